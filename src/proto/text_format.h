// Protobuf's text format, for any message: reading and printing, as protobuf's own parser and printer have
// it.
//
// Sources: the text format language specification (protobuf.dev) and the behaviour of protobuf 3.21.
// Expanded google.protobuf.Any values ("[type.url/name] { ... }") are refused, and so are extensions unless
// the descriptor has them (proto/descriptor_pool.h): protobuf-c's descriptors do not know their types. `type`
// is a generated descriptor, tensorflow__graph_def__descriptor for instance; errors name the message.
#ifndef BD_PROTO_TEXT_FORMAT_H
#define BD_PROTO_TEXT_FORMAT_H

#include "base/wire.h"
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

// Reads a text and appends the message to `out` in the wire format, without an enclosing tag and length.
// InvalidArgument, with line, column and the field's name, when it is malformed, has an unknown field, a
// value out of range, a field twice that is not repeated, two members of a oneof, or nests deeper than
// BD_WIRE_DEPTH_MAX; ResourceExhausted when memory is short or the message is over BD_PROTO_BYTES_MAX. On an
// error `out` is as it was.
braid_code bd_text_format_to_wire(const ProtobufCMessageDescriptor *type, const char *text, size_t len,
                                  bd_message *out, braid_status *st);

// The same as an unpacked message: free it by protobuf_c_message_free_unpacked(*out, NULL). On an error *out
// is NULL.
braid_code bd_text_format_parse(const ProtobufCMessageDescriptor *type, const char *text, size_t len,
                                ProtobufCMessage **out, braid_status *st);

// The message as text in new memory (bd_free), as TensorFlow's text files come from Python's text_format: a
// field a line, two spaces a level, fields by number and maps by key, floating point numbers in the fewest
// digits that read back as the same, bytes that are not printable ASCII as octal escapes. Fields that
// `message`'s descriptor lacks are left out. Never NULL.
char *bd_text_format_print(const ProtobufCMessage *message);

#endif
