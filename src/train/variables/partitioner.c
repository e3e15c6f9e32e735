// Partitioners: into how many parts a variable is divided.
#include <braid/variable_scope.h>

enum {
    BYTES_A_STRING = 16,          // TensorFlow's assumption
    MIN_SLICE_BYTES = 256 * 1024, // TensorFlow's default
};

static int64_t at_most(int64_t count, int64_t limit)
{
    return count < limit ? count : limit;
}

static int64_t at_least_one(int64_t count)
{
    return count < 1 ? 1 : count;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t bytes_an_element(const braid_partitioner *self, braid_dtype dtype)
{
    if (dtype == BRAID_STRING) return self->bytes_a_string > 0 ? self->bytes_a_string : BYTES_A_STRING;
    return (int64_t)braid_dtype_size(dtype);
}

// The length of the axis to divide; 0 when the shape has none: the caller refuses the axis.
static int64_t length_of(const braid_partitioner *self, braid_shape shape)
{
    return self->axis >= 0 && self->axis < shape.rank ? shape.dims[self->axis] : 0;
}

static int64_t fixed_size(const braid_partitioner *self, braid_dtype dtype, braid_shape shape, int *axis)
{
    (void)dtype;
    *axis = self->axis;
    return at_least_one(at_most(self->limit, length_of(self, shape)));
}

static int64_t axis_size(const braid_partitioner *self, braid_dtype dtype, braid_shape shape, int *axis)
{
    *axis = self->axis;
    const int64_t length = length_of(self, shape);
    if (length < 1 || self->limit < 1) return 1;
    const int64_t bytes = braid_shape_num_elements(shape) / length * bytes_an_element(self, dtype);
    const int64_t rows_a_shard = at_least_one(self->limit / at_least_one(bytes));
    const int64_t shards = ceil_div(length, rows_a_shard);
    return self->max_shards > 0 ? at_most(shards, self->max_shards) : shards;
}

static int64_t min_max(const braid_partitioner *self, braid_dtype dtype, braid_shape shape, int *axis)
{
    *axis = self->axis;
    const int64_t bytes = braid_shape_num_elements(shape) * bytes_an_element(self, dtype);
    const int64_t wanted = at_most(ceil_div(bytes, self->limit), self->max_shards);
    return at_least_one(at_most(wanted, length_of(self, shape)));
}

braid_partitioner braid_fixed_size_partitioner(int64_t shards, int axis)
{
    return (braid_partitioner){.shards = fixed_size, .axis = axis, .limit = shards};
}

braid_partitioner braid_variable_axis_size_partitioner(int64_t max_shard_bytes, int axis, int64_t max_shards)
{
    return (braid_partitioner){
        .shards = axis_size, .axis = axis, .limit = max_shard_bytes, .max_shards = max_shards};
}

braid_partitioner braid_min_max_variable_partitioner(int64_t max_partitions, int axis,
                                                     int64_t min_slice_bytes)
{
    return (braid_partitioner){.shards = min_max,
                               .axis = axis,
                               .limit = min_slice_bytes > 0 ? min_slice_bytes : MIN_SLICE_BYTES,
                               .max_shards = max_partitions};
}
