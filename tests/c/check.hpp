// What the tests in C++ share: a check that is counted, and what an action throws.

#include <exception>
#include <iostream>
#include <scr.hpp>
#include <string>

namespace {

int rank, ranks, failures;

// That of the scr::Error that was thrown last.
std::string reason;

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
        reason = error.reason();
        CHECK(std::string(error.what()).find(reason) != std::string::npos);
        return error.call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

// Did the last scr::Error say so?
bool was_told(const std::string& words)
{
    const bool told = reason.find(words) != std::string::npos;
    if (!told) std::cerr << "the reason is: " << reason << std::endl;
    return told;
}

} // namespace
