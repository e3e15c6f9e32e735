// The services that any client may call, described: their .proto files with all that they import.
#ifndef BD_PROTO_DESCRIPTORS_H
#define BD_PROTO_DESCRIPTORS_H

#include "base/wire.h"

// A file, as a FileDescriptorProto on the wire. Borrowed; static.
typedef struct bd_proto_file {
    const uint8_t *data;
    size_t len;
} bd_proto_file;

// Finds a file by name ("tensorflow/core/protobuf/master.proto"), or by the full name of a declaration: a
// message, an enum, a service or a method ("tensorflow.MasterService.RunStep"). Returns false when there is
// none.
bool bd_proto_file_find(const char *name, bd_proto_file *file);
bool bd_proto_file_declaring(const char *symbol, bd_proto_file *file);

#endif
