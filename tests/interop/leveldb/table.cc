// Tables by LevelDB, for tests.
#include "table.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>
#include <memory>
#include <string>

namespace
{

bool report(const leveldb::Status &status, char **error)
{
    *error = status.ok() ? nullptr : strdup(status.ToString().c_str()); // the caller's, by free()
    return status.ok();
}

struct OpenTable {
    std::unique_ptr<leveldb::RandomAccessFile> file;
    std::unique_ptr<leveldb::Table> table;

    leveldb::Status open(const char *path)
    {
        leveldb::Env *env = leveldb::Env::Default();
        leveldb::RandomAccessFile *raw_file = nullptr;
        leveldb::Table *raw_table = nullptr;
        uint64_t size = 0;
        leveldb::Options options;
        options.paranoid_checks = true;
        leveldb::Status status = env->GetFileSize(path, &size);
        if (status.ok()) status = env->NewRandomAccessFile(path, &raw_file);
        file.reset(raw_file);
        if (status.ok()) status = leveldb::Table::Open(options, raw_file, size, &raw_table);
        table.reset(raw_table);
        return status;
    }

    std::unique_ptr<leveldb::Iterator> iterate() const
    {
        leveldb::ReadOptions options;
        options.verify_checksums = true;
        return std::unique_ptr<leveldb::Iterator>(table->NewIterator(options));
    }
};

} // namespace

bool leveldb_table_read(const char *path,
                        void (*fn)(const char *key, size_t key_len, const char *value, size_t value_len,
                                   void *arg),
                        void *arg, char **error)
{
    OpenTable t;
    if (!report(t.open(path), error)) return false;
    std::unique_ptr<leveldb::Iterator> it = t.iterate();
    for (it->SeekToFirst(); it->Valid(); it->Next())
        fn(it->key().data(), it->key().size(), it->value().data(), it->value().size(), arg);
    return report(it->status(), error);
}

bool leveldb_table_get(const char *path, const char *key, size_t key_len, char **value, size_t *value_len,
                       char **error)
{
    OpenTable t;
    *value = nullptr;
    if (!report(t.open(path), error)) return false;
    std::unique_ptr<leveldb::Iterator> it = t.iterate();
    leveldb::Slice wanted(key, key_len);
    it->Seek(wanted);
    if (it->Valid() && it->key() == wanted) {
        *value_len = it->value().size();
        *value = static_cast<char *>(malloc(*value_len + 1)); // the caller's, by free()
        memcpy(*value, it->value().data(), *value_len);
    }
    return report(it->status(), error);
}

bool leveldb_table_write(const char *path, size_t block_bytes, bool compressed, const char *const *keys,
                         const char *const *values, size_t count, char **error)
{
    leveldb::WritableFile *raw_file = nullptr;
    leveldb::Options options;
    options.block_size = block_bytes;
    options.compression = compressed ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    leveldb::Status status = leveldb::Env::Default()->NewWritableFile(path, &raw_file);
    std::unique_ptr<leveldb::WritableFile> file(raw_file);
    if (!report(status, error)) return false;
    leveldb::TableBuilder builder(options, raw_file);
    for (size_t i = 0; i < count; i++)
        builder.Add(keys[i], values[i]);
    status = builder.Finish();
    if (status.ok()) status = raw_file->Close();
    return report(status, error);
}
