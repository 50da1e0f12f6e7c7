// Usage: explained_cxx [salt]
// A program for scr rehearse --explain whose files lack one part of its state: a vector of an object. Its checkpoints are files.
// The result is in `result`.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <mpi.h>
#include <random>
#include <scr.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace ocean {
struct Named {
    virtual ~Named() = default;
    long uses = 0;
};
struct Mixing : virtual Named {
    virtual double mix(double heat) = 0;
};
struct Layered : Mixing {
    double lag = 0.0;
    double mix(double heat) override { return lag = 0.9 * lag + 0.01 * heat; }
};
class Model {
public:
    int step = 0;
    std::vector<double> heat = std::vector<double>(64, 1.0);
    std::vector<double> salt = std::vector<double>(64, 0.5);
    std::mt19937 random{7};
    std::unique_ptr<Mixing> mixing = std::make_unique<Layered>();
    std::map<std::string, double> table{{"north", 1.0}, {"south", 2.0}, {"west", 3.0}};

    void advance()
    {
        std::vector<double> flow(heat.size());
        for (std::size_t i = 0; i < heat.size(); ++i) {
            flow[i] = std::sin(heat[i]) + salt[i];
            salt[i] = 0.9 * salt[i] + 0.01 * heat[i];
            heat[i] += 0.01 * flow[i] + 1e-12 * static_cast<double>(random());
        }
        for (auto &entry : table) entry.second += 0.01 * static_cast<double>(entry.first.size());
        heat[3] += mixing->mix(heat[2]) + 0.01 * table["south"];
        ++step;
    }
};
std::unique_ptr<Model> model;
} // namespace ocean

static const char *omission = "complete";

static bool has(const char *name) { return std::strcmp(omission, name) != 0; }

static bool write(const char *path)
{
    std::ofstream file(path);
    const auto &model = *ocean::model;
    file << std::setprecision(17) << model.step << '\n';
    const auto *heat = reinterpret_cast<const char *>(model.heat.data());
    file.write(heat, static_cast<std::streamsize>(model.heat.size() * sizeof(double)));
    if (has("salt")) for (double value : model.salt) file << value << '\n';
    file << model.random << '\n';
    file << dynamic_cast<const ocean::Layered &>(*model.mixing).lag << '\n';
    for (const auto &entry : model.table) file << entry.second << '\n';
    return static_cast<bool>(file.flush());
}

static bool read(const char *path)
{
    std::ifstream file(path);
    auto &model = *ocean::model;
    file >> model.step;
    file.ignore();
    auto *heat = reinterpret_cast<char *>(model.heat.data());
    file.read(heat, static_cast<std::streamsize>(model.heat.size() * sizeof(double)));
    if (has("salt")) for (double &value : model.salt) file >> value;
    file >> model.random;
    file >> dynamic_cast<ocean::Layered &>(*model.mixing).lag;
    for (auto &entry : model.table) file >> entry.second;
    return static_cast<bool>(file);
}

int main(int argc, char **argv)
{
    int rank = 0, found = 0;
    char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME];
    if (argc > 1) omission = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ocean::model = std::make_unique<ocean::Model>();
    if (SCR_Init() != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    const auto path = [&](const std::string &dataset) { return dataset + "/rank_" + std::to_string(rank); };
    SCR_Have_restart(&found, name);
    if (found) {
        SCR_Start_restart(name);
        SCR_Route_file(path(name).c_str(), file);
        SCR_Complete_restart(read(file));
    }
    while (ocean::model->step < 24) {
        ocean::model->advance();
        usleep(20000);
        MPI_Barrier(MPI_COMM_WORLD);
        if (ocean::model->step % 4 == 0) {
            const std::string dataset = "ck." + std::to_string(ocean::model->step);
            SCR_Start_output(dataset.c_str(), SCR_FLAG_CHECKPOINT);
            SCR_Route_file(path(dataset).c_str(), file);
            SCR_Complete_output(write(file));
        }
    }
    double sum = 0.0, total = 0.0;
    for (double value : ocean::model->heat) sum += value;
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::ofstream("result") << std::setprecision(17) << total << '\n';
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
