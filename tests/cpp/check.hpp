// Checks of the tests in C++: what is wrong is printed, and the program's exit code tells of it.
#ifndef BRAID_TESTS_CPP_CHECK_HPP
#define BRAID_TESTS_CPP_CHECK_HPP

#include <braid/braid.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

inline int failures = 0;

inline void expect(bool ok, const char *what, int line = __builtin_LINE())
{
    if (ok) return;
    std::printf("FAILED: line %d: %s\n", line, what);
    failures++;
}

inline void expect_near(double value, double wanted, double tolerance, const char *what,
                        int line = __builtin_LINE())
{
    if (std::abs(value - wanted) <= tolerance) return;
    std::printf("FAILED: line %d: %s: %.9g instead of %.9g\n", line, what, value, wanted);
    failures++;
}

/// The elements of a tensor of T are these.
template <typename T>
void expect_elements(const braid::tensor &value, const std::vector<T> &wanted, const char *what,
                     int line = __builtin_LINE())
{
    const auto elements = value.elements<T>();
    bool equal = elements.size() == wanted.size();
    for (size_t i = 0; equal && i < wanted.size(); i++)
        equal = std::abs(static_cast<double>(elements[i]) - static_cast<double>(wanted[i])) < 1e-5;
    if (equal) return;
    std::printf("FAILED: line %d: %s:", line, what);
    for (const T element : elements)
        std::printf(" %.6g", static_cast<double>(element));
    std::puts("");
    failures++;
}

/// The call throws an error of this code; returns its message.
template <typename Call> std::string message_of(braid_code wanted, Call &&call, int line = __builtin_LINE())
{
    try {
        call();
    } catch (const braid::error &e) {
        expect(e.code() == wanted, "the code of the error", line);
        return e.what();
    }
    expect(false, "an error is thrown", line);
    return "";
}

inline bool has(const std::string &text, const std::string &part)
{
    if (text.find(part) != std::string::npos) return true;
    std::printf("no '%s' in: %s\n", part.c_str(), text.c_str());
    return false;
}

/// A new directory, which is removed with what is in it at the end of the block.
class temporary_dir
{
  public:
    temporary_dir()
    {
        if (!mkdtemp(path_)) expect(false, "a new directory");
    }
    ~temporary_dir()
    {
        std::filesystem::remove_all(path_);
    }
    temporary_dir(const temporary_dir &) = delete;
    temporary_dir &operator=(const temporary_dir &) = delete;
    std::string operator/(const char *name) const
    {
        return std::string(path_) + "/" + name;
    }
    std::string path() const
    {
        return path_;
    }

  private:
    char path_[32] = "/tmp/braid_cpp_test_XXXXXX";
};

/// Runs tests; an exception ends the one that throws it. Returns the exit code of the program.
template <typename... Tests> int run_tests(Tests... tests)
{
    const auto guarded = [](auto test) {
        try {
            test();
        } catch (const std::exception &e) {
            std::printf("FAILED: %s\n", e.what());
            failures++;
        }
    };
    braid_set_log_level(BRAID_LOG_NONE);
    (guarded(tests), ...);
    std::puts(failures ? "failed" : "passed");
    return failures ? 1 : 0;
}

#endif
