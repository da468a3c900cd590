// The texts of report/review/: the page with places for the others, its style, and its script.
#pragma once

namespace refit {

extern const char kReviewPage[], kReviewStyle[], kReviewScript[];

}  // namespace refit
