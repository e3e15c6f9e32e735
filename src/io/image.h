// Shared by the decoders of images: the form of an image, and the sink of its samples.
//
// A decoder reads a whole file in memory, which may be hostile: it returns an error (InvalidArgument,
// ResourceExhausted) or an image, and allocates memory only when the size in the file's header is within the
// limits.
#ifndef BD_IO_IMAGE_H
#define BD_IO_IMAGE_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

// Samples are [frames, height, width, channels]; one frame but for animations.
typedef struct bd_image_form {
    int64_t frames, height, width, channels;
} bd_image_form;

// The limit of pixels of an image, all frames together, as in TensorFlow. A file of a few bytes may declare
// more.
#define BD_IMAGE_PIXELS_MAX ((int64_t)1 << 29)

// Allocates memory for the samples when the form is known; all of it is overwritten. NULL: the sink refuses
// the image and sets the error.
typedef struct bd_image_sink {
    void *(*allocate)(void *arg, const bd_image_form *form);
    void *arg;
} bd_image_sink;

// Sets the status of a decoder whose sink refused the image.
braid_code bd_image_refused(braid_status *st);

typedef struct bd_image_file {
    const uint8_t *data;
    size_t len;
} bd_image_file;

#endif
