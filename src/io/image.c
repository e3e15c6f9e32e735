// Shared by the decoders of images.
#include "io/image.h"

braid_code bd_image_refused(braid_status *st)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for the image");
}
