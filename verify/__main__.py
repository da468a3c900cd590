"""What `refit verify` runs: python3 FOLDER JOB ANSWER, two files of JSON."""

import sys

from refit_verify import driver

if __name__ == "__main__":
    sys.exit(driver.main(sys.argv[1], sys.argv[2]))
