#!/bin/sh
# Runs a compiler and fails where it says that it serialised matrix products (ptxas, codes C7510 to
# C7520): it waits after each of them, at a third of the speed.
output=$("$@" 2>&1)
status=$?
[ -n "$output" ] && printf '%s\n' "$output" >&2
case $output in
  *"wgmma.mma_async instructions are serialized"*)
    echo "check_products.sh: matrix products are serialised, see above" >&2
    exit 1
    ;;
esac
exit $status
