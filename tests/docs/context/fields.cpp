// What the program in docs/fields.md leaves to the reader.
#include <mpi.h>
#include <scr.hpp>

struct Cell {
    int id = 0;
    std::vector<double> inside;
    void list(scr::State& s)
    {
        s.field("id", id);
        s.field("inside", inside);
    }
};

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    scr::Session session;
    const int rows = 3, columns = 4, all_rows = 6, first_row = 0, last_step = 100;
    std::vector<double> density(rows * columns), buffer(7);
    std::vector<Cell> cells(2);
    int step = 0;
BLOCK
    session.finalize();
    MPI_Finalize();
}
