// The main function that every test program shares; Boost.Test writes it.
#define BOOST_TEST_MODULE whorl
#include <boost/test/unit_test.hpp>
