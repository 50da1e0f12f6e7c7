// Usage: city complete|OMISSION
// A city for tests/mpi/explained.sh: objects with vectors of objects and of vectors, a map, a deque, a list, a string, a generator of
// random numbers, objects behind pointers to their base class and shared ones, static members, static variables of functions. Its list
// lacks the part of the state that is named, or nothing. The result is in the file `result`.
#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <fstream>
#include <iomanip>
#include <list>
#include <map>
#include <memory>
#include <mpi.h>
#include <random>
#include <scr.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {
std::string omission = "complete";
bool has(const char* name) { return omission != name; }
double fog = 0.0;
} // namespace

namespace city {

enum class Mood : std::int16_t { calm, busy };

struct House {
    double warmth = 1.0;
    int guests = 0;
    void list(scr::State& s)
    {
        if (has("warmth")) s.field("warmth", warmth);
        if (has("guests")) s.field("guests", guests);
    }
};

class Policy {
public:
    virtual ~Policy() = default;
    virtual double tax(double income) = 0;
    virtual void list(scr::State& s) = 0;
};

class Patient : public Policy {
    double patience = 0.5;

public:
    double tax(double income) override
    {
        patience = 0.95 * patience + 0.01 * income;
        return 0.05 * patience;
    }
    void list(scr::State& s) override
    {
        if (has("patience")) s.field("patience", patience);
    }
};

struct Tram {
    static inline int rides = 0;
    std::shared_ptr<std::vector<double>> seats;
};

class Registry {
public:
    double births = 0.0;
    static Registry& instance()
    {
        static Registry only;
        return only;
    }
};

class City {
public:
    explicit City(int rank) : income(1.0 + rank) {}

    void list(scr::State& s)
    {
        s.same("step", step);
        if (has("income")) s.field("income", income);
        s.list("houses", houses);
        for (std::size_t i = 0; i < streets.size() && has("streets"); ++i) s.field("street." + std::to_string(i), streets[i]);
        for (auto& [name, price] : prices) if (has("prices")) s.field("price of " + name, price);
        for (std::size_t i = 0; i < queue.size() && has("queue"); ++i) s.field("queue." + std::to_string(i), queue[i]);
        int number = 0;
        for (auto& debt : debts) if (has("debts")) s.field("debt." + std::to_string(number++), debt);
        if (has("random")) s.field("random", scr::bytes(random));
        policy->list(s);
        if (has("rides")) s.field("rides", Tram::rides);
        if (has("seats")) s.field("seats", *trams.front().seats);
        if (has("births")) s.field("births", Registry::instance().births);
        if (has("fog")) s.field("fog", fog);
        if (has("tide")) s.field("tide", tide);
        if (has("lights")) s.field("lights", lights);
        if (has("mood")) s.field("mood", mood);
        if (has("news")) s.field("news", news);
    }

    void advance()
    {
        const auto begun = std::chrono::steady_clock::now();
        ++step;
        ++Tram::rides;
        if (step == 3) mood = Mood::busy;
        if (step == 2) news = "a fair";
        tide *= std::polar(0.99, 0.3);
        fog = 0.9 * fog + 0.1 * std::abs(tide.real());
        income += policy->tax(houses[2].warmth) - income * 0.01;
        queue.push_back(queue.front() * 0.9 + 1e-20 * static_cast<double>(random()));
        queue.pop_front();
        Registry::instance().births += queue.back();
        for (std::size_t i = 0; i < houses.size(); ++i) {
            House& house = houses[i];
            if (step % 3 == 0) house.guests = (house.guests + static_cast<int>(i)) % 5;
            house.warmth += 0.01 * (income - house.warmth) + 0.002 * house.guests + (mood == Mood::busy ? 0.01 : 0.0);
        }
        for (auto& street : streets) for (double& crowd : street) crowd = 0.9 * crowd + 0.1 * std::sin(houses[1].warmth + crowd);
        for (auto& entry : prices) entry.second *= 1.0 + 0.001 * static_cast<double>(entry.first.size());
        for (double& debt : debts) debt = 0.97 * debt + 0.01 * prices["bread"];
        for (std::size_t i = 0; i < lights.size(); ++i) lights[i] += 0.01f * static_cast<float>(fog);
        auto& seats = *trams.back().seats;
        for (double& seat : seats) seat += 0.001 * (Tram::rides % 11);
        houses[3].warmth += 0.01 * (streets[1][2] + debts.front() + lights[3] + seats[1] + news.size())
            + 0.001 * Registry::instance().births;
        std::this_thread::sleep_until(begun + std::chrono::milliseconds(20));
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    }

    double total() const
    {
        double sum = income;
        for (const House& house : houses) sum += house.warmth;
        return sum;
    }

    int step = 0;

private:
    double income, seconds = 0.0;
    std::vector<House> houses = std::vector<House>(7);
    std::vector<std::vector<double>> streets = std::vector<std::vector<double>>(3, std::vector<double>(5, 0.1));
    std::map<std::string, double> prices { { "bread", 1.0 }, { "milk", 1.5 }, { "oil", 4.0 } };
    std::deque<double> queue = std::deque<double>(9, 0.2);
    std::list<double> debts { 3.0, 2.0, 1.0 };
    std::mt19937_64 random { 2024 };
    std::unique_ptr<Policy> policy = std::make_unique<Patient>();
    std::shared_ptr<std::vector<double>> places = std::make_shared<std::vector<double>>(6, 0.0);
    std::vector<Tram> trams { { places }, { places } };
    std::complex<double> tide { 1.0, 0.0 };
    std::array<float, 8> lights {};
    Mood mood = Mood::calm;
    std::string news = "none";
};

} // namespace city

int main(int argc, char** argv)
{
    int rank = 0;
    if (argc > 1) omission = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    {
        scr::Session session;
        city::City city(rank);
        scr::restore(city);
        while (city.step < 24) {
            city.advance();
            MPI_Barrier(MPI_COMM_WORLD);
            if (city.step % 4 == 0) scr::checkpoint(city, "ck." + std::to_string(city.step));
        }
        double own = city.total(), total = 0.0;
        MPI_Reduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) std::ofstream("result") << std::setprecision(17) << total << '\n';
        session.finalize();
    }
    MPI_Finalize();
    return 0;
}
