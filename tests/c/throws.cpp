// A routine of C that lists the state, from which an exception of C++ comes: the program ends as one that catches nothing.
// Ends with 3 if that is so. SPDX-License-Identifier: MIT OR Apache-2.0

#include <mpi.h>
#include <scr.h>

#include <cstdlib>
#include <exception>
#include <stdexcept>

static int list(SCR_State*, void*) { throw std::runtime_error("no state"); }

int main(int argc, char** argv)
{
    std::set_terminate([] { std::_Exit(std::current_exception() ? 3 : 4); });
    MPI_Init(&argc, &argv);
    SCR_Init();
    try {
        SCR_Checkpoint("a", SCR_FLAG_CHECKPOINT, list, nullptr);
    } catch (const std::exception&) {
        std::_Exit(5);
    }
    MPI_Finalize();
    return 6;
}
