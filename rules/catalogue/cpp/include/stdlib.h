#pragma once
#include "refit_std.h"
