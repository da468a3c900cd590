// Names of the cases of a table: each row's `name`.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace refit {

struct RowName {
  template <typename Row>
  std::string operator()(const testing::TestParamInfo<Row>& row) const {
    return row.param.name;
  }
};

}  // namespace refit
