// Files of examples for C++ (C++17, over tfrecord.h, example.h and idx.h, which describe them). Include
// braid.hpp.
//
//     braid::record_writer writer("train.tfrecord");
//     writer.write(braid::example().int64s("label", {3}).floats("x", {0.5f, 1}).serialize());
//     writer.close();
//
// Errors are thrown as braid::error.
#ifndef BRAID_FILES_HPP
#define BRAID_FILES_HPP

#include <braid/example.h>
#include <braid/idx.h>
#include <braid/owned.hpp>
#include <braid/tensor.hpp>
#include <braid/tfrecord.h>

#include <optional>

namespace braid
{

namespace detail
{

inline void close_writer(braid_record_writer *writer)
{
    ::braid_record_writer_close(writer, nullptr);
}

} // namespace detail

/// Writes a TFRecord file. The destructor closes the file without an error; close() throws it.
class record_writer
{
  public:
    explicit record_writer(const std::string &path, braid_compression compression = BRAID_COMPRESSION_NONE)
    {
        status st;
        raw_ = decltype(raw_)(st.check(::braid_record_writer_open(path.c_str(), compression, st)));
    }
    void write(std::string_view record)
    {
        status st;
        ::braid_record_write(raw_.get(), record.data(), record.size(), st);
        st.check();
    }
    /// Other processes see the records then.
    void flush()
    {
        status st;
        ::braid_record_writer_flush(raw_.get(), st);
        st.check();
    }
    void close()
    {
        status st;
        ::braid_record_writer_close(raw_.release(), st);
        st.check();
    }

  private:
    detail::owned<braid_record_writer, detail::close_writer> raw_;
};

/// Reads a TFRecord file: while (auto record = reader.read()) ...
class record_reader
{
  public:
    explicit record_reader(const std::string &path, braid_compression compression = BRAID_COMPRESSION_NONE)
    {
        status st;
        raw_ = decltype(raw_)(st.check(::braid_record_reader_open(path.c_str(), compression, st)));
    }
    /// The next record, valid until the next call; none at the end of the file.
    std::optional<std::string_view> read()
    {
        const void *data = nullptr;
        size_t len = 0;
        status st;
        if (::braid_record_read(raw_.get(), &data, &len, st) == BRAID_OUT_OF_RANGE) return std::nullopt;
        st.check();
        return std::string_view(static_cast<const char *>(data), len);
    }

  private:
    detail::owned<braid_record_reader, ::braid_record_reader_close> raw_;
};

/// An Example message that is being built.
class example
{
  public:
    example() : raw_(::braid_example_new()) {}
    /// Append values to a feature. All values of a feature are of one kind.
    example &int64s(const char *name, const std::vector<int64_t> &values)
    {
        ::braid_example_int64s(raw_.get(), name, values.data(), static_cast<int>(values.size()));
        return *this;
    }
    example &floats(const char *name, const std::vector<float> &values)
    {
        ::braid_example_floats(raw_.get(), name, values.data(), static_cast<int>(values.size()));
        return *this;
    }
    example &bytes(const char *name, std::string_view value)
    {
        ::braid_example_bytes(raw_.get(), name, value.data(), value.size());
        return *this;
    }
    /// Makes it empty, for the next example.
    void clear()
    {
        ::braid_example_clear(raw_.get());
    }
    /// Throws the first error of the values.
    std::string serialize()
    {
        size_t len = 0;
        status st;
        const void *data = st.check(::braid_example_serialize(raw_.get(), &len, st));
        return {static_cast<const char *>(data), len};
    }

  private:
    detail::owned<braid_example, ::braid_example_free> raw_;
};

/// The content of an idx file, plain or gzipped (MNIST).
inline tensor read_idx(const std::string &path)
{
    status st;
    return tensor(st.check(::braid_idx_read(path.c_str(), st)));
}

} // namespace braid
#endif
