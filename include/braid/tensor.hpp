// Errors, shapes and tensors for C++ (C++17, over tensor.h). Include braid.hpp.
#ifndef BRAID_TENSOR_HPP
#define BRAID_TENSOR_HPP

#include <braid/tensor.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid
{

/// A status that is not OK, as an exception. The message begins with the code's name.
class error : public std::runtime_error
{
  public:
    error(braid_code code, const std::string &message)
        : std::runtime_error(std::string(braid_code_name(code)) + ": " + message), code_(code),
          message_(message)
    {
    }
    braid_code code() const noexcept
    {
        return code_;
    }
    const std::string &message() const noexcept
    {
        return message_;
    } ///< without the code's name

  private:
    braid_code code_;
    std::string message_;
};

/// A status for calls of the C interface; check() throws its error.
class status
{
  public:
    status() : raw_(braid_status_new()) {}
    ~status()
    {
        braid_status_free(raw_);
    }
    status(const status &) = delete;
    status &operator=(const status &) = delete;
    operator braid_status *() const noexcept
    {
        return raw_;
    }
    void check() const
    {
        if (const braid_code code = braid_status_code(raw_)) throw error(code, braid_status_message(raw_));
    }
    /// Returns a pointer that a call gave; throws when it is null.
    template <typename T> T *check(T *made) const
    {
        if (!made) check();
        if (!made) throw error(BRAID_INTERNAL, "a call has failed without a status");
        return made;
    }

  private:
    braid_status *raw_;
};

/// A shape: {-1, 784}; {} is a scalar.
class shape
{
  public:
    shape() : raw_(braid_shape_make(0, nullptr)) {}
    shape(std::initializer_list<int64_t> dims) : shape(dims.begin(), dims.size()) {}
    shape(const std::vector<int64_t> &dims) : shape(dims.data(), dims.size()) {}
    shape(const braid_shape &raw) : raw_(raw) {}
    static shape unknown()
    {
        return braid_shape_make(-1, nullptr);
    }
    operator braid_shape() const
    {
        return raw_;
    }
    int rank() const
    {
        return raw_.rank;
    }
    int64_t operator[](int i) const
    {
        return raw_.dims[i];
    }
    int64_t num_elements() const
    {
        return braid_shape_num_elements(raw_);
    }
    friend bool operator==(const shape &a, const shape &b)
    {
        return braid_shape_equal(a.raw_, b.raw_);
    }
    friend bool operator!=(const shape &a, const shape &b)
    {
        return !(a == b);
    }

  private:
    shape(const int64_t *dims, size_t rank)
    {
        if (rank > BRAID_RANK_MAX) throw error(BRAID_INVALID_ARGUMENT, "a shape has too many dimensions");
        raw_ = braid_shape_make(static_cast<int>(rank), dims);
    }
    braid_shape raw_;
};

/// The element type of a C++ type.
template <typename T> constexpr braid_dtype dtype_of() = delete;
template <> constexpr braid_dtype dtype_of<float>()
{
    return BRAID_FLOAT;
}
template <> constexpr braid_dtype dtype_of<double>()
{
    return BRAID_DOUBLE;
}
template <> constexpr braid_dtype dtype_of<int8_t>()
{
    return BRAID_INT8;
}
template <> constexpr braid_dtype dtype_of<int16_t>()
{
    return BRAID_INT16;
}
template <> constexpr braid_dtype dtype_of<int32_t>()
{
    return BRAID_INT32;
}
template <> constexpr braid_dtype dtype_of<int64_t>()
{
    return BRAID_INT64;
}
template <> constexpr braid_dtype dtype_of<uint8_t>()
{
    return BRAID_UINT8;
}
template <> constexpr braid_dtype dtype_of<uint16_t>()
{
    return BRAID_UINT16;
}
template <> constexpr braid_dtype dtype_of<uint32_t>()
{
    return BRAID_UINT32;
}
template <> constexpr braid_dtype dtype_of<uint64_t>()
{
    return BRAID_UINT64;
}
template <> constexpr braid_dtype dtype_of<bool>()
{
    return BRAID_BOOL;
}
template <> constexpr braid_dtype dtype_of<std::complex<float>>()
{
    return BRAID_COMPLEX64;
}
template <> constexpr braid_dtype dtype_of<std::complex<double>>()
{
    return BRAID_COMPLEX128;
}
template <> constexpr braid_dtype dtype_of<std::string>()
{
    return BRAID_STRING;
}

namespace detail
{

template <typename T> constexpr bool is_element = std::is_arithmetic_v<T>;
template <typename T> constexpr bool is_element<std::complex<T>> = true;
template <> inline constexpr bool is_element<std::string> = true;
template <typename T> using if_element = std::enable_if_t<is_element<T>>;

} // namespace detail

/// The elements of a tensor, row-major, as long as the tensor lives.
template <typename T> class view
{
  public:
    view(T *data, size_t size) : data_(data), size_(size) {}
    T *begin() const
    {
        return data_;
    }
    T *end() const
    {
        return data_ + size_;
    }
    T *data() const
    {
        return data_;
    }
    size_t size() const
    {
        return size_;
    }
    T &operator[](size_t i) const
    {
        return data_[i];
    }

  private:
    T *data_;
    size_t size_;
};

/// A tensor. Copies share the content, which must not change once it is shared.
class tensor
{
  public:
    tensor() = default; ///< no tensor
    /// Takes a tensor of the C interface.
    explicit tensor(braid_tensor *taken) noexcept : raw_(taken) {}
    /// Uninitialized elements (empty strings for BRAID_STRING).
    tensor(braid_dtype dtype, const shape &s)
    {
        status st;
        raw_ = st.check(braid_tensor_new(dtype, s, st));
    }
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    tensor(T value) : tensor(dtype_of<T>(), shape())
    {
        *static_cast<T *>(braid_tensor_data(raw_)) = value;
    }
    tensor(std::string_view text) : tensor(BRAID_STRING, shape())
    {
        braid_tensor_set_string(raw_, 0, text.data(), text.size());
    }
    tensor(const char *text) : tensor(std::string_view(text)) {}
    tensor(const std::string &text) : tensor(std::string_view(text)) {}
    /// A vector: tensor({1.0f, 2.0f}).
    template <typename T, typename = detail::if_element<T>>
    tensor(std::initializer_list<T> values) : tensor(values, {static_cast<int64_t>(values.size())})
    {
    }
    /// A matrix: tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}); its rows have the same length.
    template <typename T, typename = detail::if_element<T>>
    tensor(std::initializer_list<std::initializer_list<T>> rows)
        : tensor(dtype_of<T>(), {static_cast<int64_t>(rows.size()),
                                 static_cast<int64_t>(rows.size() ? rows.begin()->size() : 0)})
    {
        std::vector<T> values;
        for (const auto &row : rows) {
            if (row.size() != rows.begin()->size()) fail("the rows of a matrix differ in length");
            values.insert(values.end(), row.begin(), row.end());
        }
        fill(values);
    }
    template <typename T>
    tensor(const std::vector<T> &values) : tensor(values, {static_cast<int64_t>(values.size())})
    {
    }
    /// The values of a container, row-major, in a shape.
    template <typename T> tensor(const std::vector<T> &values, const shape &s) : tensor(dtype_of<T>(), s)
    {
        fill(values);
    }
    template <typename T, typename = detail::if_element<T>>
    tensor(std::initializer_list<T> values, const shape &s) : tensor(dtype_of<T>(), s)
    {
        fill(std::vector<T>(values));
    }

    tensor(const tensor &other) : raw_(other.raw_ ? braid_tensor_copy(other.raw_) : nullptr) {}
    tensor(tensor &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    tensor &operator=(tensor other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~tensor()
    {
        braid_tensor_free(raw_);
    }

    braid_tensor *get() const noexcept
    {
        return raw_;
    } ///< null: no tensor
    braid_tensor *release() noexcept
    {
        return std::exchange(raw_, nullptr);
    }
    explicit operator bool() const noexcept
    {
        return raw_;
    }
    braid_dtype dtype() const
    {
        return braid_tensor_dtype(checked());
    }
    braid::shape shape_of() const
    {
        return braid_tensor_shape(checked());
    }
    int64_t size() const
    {
        return braid_tensor_num_elements(checked());
    }

    /// The elements, which are of type T, else InvalidArgument. Strings: see text().
    template <typename T> braid::view<const T> elements() const &
    {
        return {data<T>(), elements_count()};
    }
    template <typename T> braid::view<T> elements() &
    {
        return {data<T>(), elements_count()};
    }
    /// Of a temporary tensor, which the view would outlive: a copy.
    template <typename T> std::vector<T> elements() &&
    {
        const braid::view<T> here = elements<T>();
        return {here.begin(), here.end()};
    }
    /// The only element.
    template <typename T> T scalar() const
    {
        if (size() != 1) fail("a tensor of " + std::to_string(size()) + " elements is no scalar");
        if constexpr (std::is_same_v<T, std::string>)
            return text(0);
        else
            return *data<T>();
    }
    /// Element `i` of a string tensor.
    std::string text(int64_t i) const
    {
        require(BRAID_STRING);
        size_t len = 0;
        if (i < 0 || i >= size()) fail("a tensor has no element " + std::to_string(i));
        const char *bytes = braid_tensor_string_at(raw_, i, &len);
        return {bytes, len};
    }

  private:
    [[noreturn]] static void fail(const std::string &message)
    {
        throw error(BRAID_INVALID_ARGUMENT, message);
    }
    const braid_tensor *checked() const
    {
        if (!raw_) fail("there is no tensor");
        return raw_;
    }
    void require(braid_dtype wanted) const
    {
        if (dtype() != wanted)
            fail(std::string("a tensor of type ") + braid_dtype_name(dtype()) + " is taken for one of " +
                 braid_dtype_name(wanted));
    }
    size_t elements_count() const
    {
        return static_cast<size_t>(size());
    }
    template <typename T> T *data() const
    {
        static_assert(!std::is_same_v<T, std::string>, "use text()");
        require(dtype_of<T>());
        return static_cast<T *>(braid_tensor_data(raw_));
    }
    template <typename T> void fill(const std::vector<T> &values)
    {
        if (static_cast<int64_t>(values.size()) != size())
            fail(std::to_string(values.size()) + " values do not fill the shape of a tensor");
        if constexpr (std::is_same_v<T, std::string>) {
            for (size_t i = 0; i < values.size(); i++)
                braid_tensor_set_string(raw_, static_cast<int64_t>(i), values[i].data(), values[i].size());
        } else {
            std::copy(values.begin(), values.end(), static_cast<T *>(braid_tensor_data(raw_)));
        }
    }

    braid_tensor *raw_ = nullptr;
};

} // namespace braid
#endif
