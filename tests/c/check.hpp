// What the tests in C++ share: a check that is counted, and what an action throws.

#include <exception>
#include <iostream>
#include <scr.hpp>
#include <string>

namespace {

int rank, ranks, failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            std::cerr << "rank " << rank << ", line " << __LINE__ << ": not so: " #condition   \
                      << std::endl;                                                            \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

// What an action throws: the call of an scr::Error, the text of another exception, or "".
template <typename Action> std::string thrown_by(const Action& action)
{
    try {
        action();
    } catch (const scr::Error& error) {
        CHECK(error.code() != SCR_SUCCESS);
        CHECK(std::string(error.what()).find(error.call()) == 0);
        return error.call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

} // namespace
