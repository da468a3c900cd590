// The functions of fmt that are no templates, compiled from its headers, and those templates that
// its headers announce as compiled elsewhere and that this project's objects call.
#include <fmt/format-inl.h>

template auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref)
    -> fmt::detail::thousands_sep_result<char>;
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
