// Field numbers of the messages in V1 checkpoints.
#ifndef BD_IO_CHECKPOINT_V1_WIRE_H
#define BD_IO_CHECKPOINT_V1_WIRE_H

enum {
    SLICES_META = 1, // SavedTensorSlices: SavedTensorSliceMeta
    SLICES_DATA = 2, // SavedSlice
    META_TENSOR = 1, // SavedTensorSliceMeta: SavedSliceMeta[]
    META_VERSIONS = 2,
    TENSOR_META_NAME = 1, // SavedSliceMeta
    TENSOR_META_SHAPE = 2,
    TENSOR_META_TYPE = 3,
    TENSOR_META_SLICE = 4, // TensorSliceProto[]
    SAVED_NAME = 1,        // SavedSlice
    SAVED_SLICE = 2,
    SAVED_DATA = 3,   // TensorProto
    SLICE_EXTENT = 1, // TensorSliceProto
    EXTENT_START = 1,
    EXTENT_LENGTH = 2,
    VERSION_PRODUCER = 1, // VersionDef
    VERSION_MIN_CONSUMER = 2
};

// The version of the format that TensorFlow and we write.
#define CHECKPOINT_V1_VERSION 1

#endif
