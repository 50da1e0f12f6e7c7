// Fields in memory that a function of the program copies, from C++: views, arrays with strides as those of Kokkos, and
// exceptions. No device is needed. Runs on any number of ranks.

#include "check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <numeric>
#include <scr.hpp>
#include <stdexcept>
#include <vector>

namespace {

// The device of this program: nobody can read at its addresses.
double* const base = reinterpret_cast<double*>(0x10000);
std::vector<double> memory(1000);

// What Kokkos::View has of what is needed, in the layout that is usual on devices: the first index is the fastest.
class LayoutLeft {
public:
    static constexpr std::integral_constant<std::size_t, 2> rank {};

    LayoutLeft(double* data, std::size_t rows, std::size_t columns) : data_(data), extents_ { rows, columns } { }
    double* data() const { return data_; }
    std::size_t extent(std::size_t dimension) const { return extents_[dimension]; }
    std::size_t stride(std::size_t dimension) const { return dimension == 0 ? 1 : extents_[0]; }

private:
    double* data_;
    std::size_t extents_[2];
};

struct Program {
    bool fails = false;
    std::size_t out = 0, in = 0;
    std::vector<double> host = std::vector<double>(12);

    void copy(void* to, const void* from, std::size_t bytes, scr::Direction direction)
    {
        if (fails) throw std::runtime_error("the device is gone");
        const bool is_out = direction == scr::Direction::out;
        const auto place = reinterpret_cast<std::uintptr_t>(is_out ? from : to) - reinterpret_cast<std::uintptr_t>(base);
        CHECK(place + bytes <= memory.size() * sizeof(double)); // only the field's memory is copied
        char* const mine = reinterpret_cast<char*>(memory.data()) + place;
        std::memcpy(is_out ? to : mine, is_out ? mine : from, bytes);
        (is_out ? out : in) += bytes;
    }

    void list(scr::State& s)
    {
        const auto by = [this](void* to, const void* from, std::size_t bytes, scr::Direction direction) {
            copy(to, from, bytes, direction);
        };
        s.copy_by(by).field("left", LayoutLeft(base, 3, 4));
        s.copy_by(by).field("line", scr::device_view(base + 100, { 50 }));
        s.copy_by(by).field("columns", scr::device_view(base + 200, { 5, 4 }, scr::Numbers { 10, 2 }));
        s.stream(nullptr).field("host", LayoutLeft(host.data(), 3, 4), scr::Options {}.on_host());
    }
};

// Reads the array of the layout above in that of C.
struct Reader {
    double left[3][4] {};
    void list(scr::State& s)
    {
        s.field("left", left);
        s.gone("line");
        s.gone("columns");
        s.gone("host");
    }
};

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    {
        scr::Session session;
        std::iota(memory.begin(), memory.end(), 0.0);
        Program program;
        std::iota(program.host.begin(), program.host.end(), 7.0);
        const auto before = memory;
        scr::checkpoint(program, "ck.1");
        CHECK(program.in == 0 && program.out == (12 + 50 + 20) * sizeof(double)); // each element is copied once

        // The pointer of the processor's memory is no device's.
        std::vector<double> host(8);
        const auto wrong = [&](scr::State& s) { s.field("x", scr::device_view(host.data(), { 8 })); };
        CHECK(thrown_by([&] { scr::checkpoint(wrong, "bad"); }) == "SCR_Field");
        CHECK(was_told("field \"x\": SCR_ON_DEVICE was given"));
        program.fails = rank == ranks - 1;
        const std::string thrown = thrown_by([&] { scr::checkpoint(program, "bad"); });
        CHECK(thrown == (rank == ranks - 1 ? "the device is gone" : "SCR_Checkpoint"));
        program.fails = false;

        std::fill(memory.begin(), memory.end(), -1.0);
        std::fill(program.host.begin(), program.host.end(), -1.0);
        CHECK(scr::restore(program)); // there is a checkpoint
        for (std::size_t i = 0; i < memory.size(); i++) {
            const bool in_columns = i >= 200 && i < 250 && (i - 200) % 10 % 2 == 0 && (i - 200) % 10 < 8;
            const bool restored = i < 12 || (i >= 100 && i < 150) || in_columns;
            CHECK(memory[i] == (restored ? before[i] : -1.0)); // what was written is restored, and nothing else
        }
        CHECK(program.host[0] == 7.0 && program.host[11] == 18.0); // memory of the processor

        Reader reader;
        CHECK(scr::restore(reader)); // the same by its indices
        CHECK(reader.left[2][1] == before[2 + 3] && reader.left[0][3] == before[9]); // in the layout of C
        session.finalize();
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
