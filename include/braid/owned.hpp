// What a C++ object owns of the C interface. Include braid.hpp.
#ifndef BRAID_OWNED_HPP
#define BRAID_OWNED_HPP

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace braid::detail
{

/// Owns an object of the C interface that `Free` frees.
template <typename Raw, void (*Free)(Raw *)> class owned
{
  public:
    explicit owned(Raw *raw = nullptr) noexcept : raw_(raw) {}
    owned(owned &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    owned &operator=(owned &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~owned()
    {
        if (raw_) Free(raw_);
    }
    Raw *get() const noexcept
    {
        return raw_;
    }
    Raw *release() noexcept
    {
        return std::exchange(raw_, nullptr);
    }

  private:
    Raw *raw_;
};

/// The text of a call whose result the caller frees.
inline std::string taken(char *text)
{
    const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free); // the caller's, by free()
    return text;
}

} // namespace braid::detail
#endif
