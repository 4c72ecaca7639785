// The style sheet of a report: colours for light, dark and paper, fonts, and what the classes of
// drawings mean.
//
// Curves have colours that people with any kind of colour vision can tell apart (after Okabe and
// Ito), lighter ones on dark. Bands of contours go from the page's own shade to a strong one.
// Thread safety: constant.
#pragma once

#include <string_view>

namespace whorl::driver::report {

std::string_view style_sheet();

}  // namespace whorl::driver::report
