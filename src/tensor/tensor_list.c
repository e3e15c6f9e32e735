// Lists of tensors as variants.
#include "tensor/tensor_list.h"

#include "base/alloc.h"
#include <string.h>

#define ROOM_MIN 4 // elements: the first allocation

static void drop(bd_tensor_list *l, int64_t from)
{
    for (int64_t i = from; i < l->count; i++)
        bd_tensor_fini(&l->items[i]);
}

static void destroy_list(bd_variant *v)
{
    bd_tensor_list *l = BD_CONTAINER_OF(v, bd_tensor_list, base);
    drop(l, 0);
    bd_buffer_unref(l->memory);
    bd_free(l);
}

const bd_variant_type bd_tensor_list_type = {.name = "tensorflow::TensorList", .destroy = destroy_list};

bd_tensor_list *bd_tensor_list_new(braid_dtype element_dtype, const braid_shape *element_shape,
                                   int64_t max_elements)
{
    bd_tensor_list *l = bd_calloc(1, sizeof *l);
    bd_variant_init(&l->base, &bd_tensor_list_type);
    l->element_dtype = element_dtype;
    l->element_shape = *element_shape;
    l->max_elements = max_elements;
    return l;
}

// Allocates memory for `room` elements, and moves the existing ones to it.
static bool take_room(bd_tensor_list *l, int64_t room)
{
    bd_buffer *memory = bd_buffer_new((size_t)room * sizeof *l->items);
    if (!memory) return false;
    if (l->count > 0) memcpy(memory->data, l->items, (size_t)l->count * sizeof *l->items);
    bd_buffer_unref(l->memory);
    l->memory = memory;
    l->items = memory->data;
    return true;
}

static bool reserve(bd_tensor_list *l, int64_t count)
{
    int64_t room = l->memory ? (int64_t)(l->memory->size / sizeof *l->items) : 0;
    if (count <= room) return true;
    if (count > BD_TENSOR_LIST_MAX) return false;
    int64_t twice = room > 0 ? 2 * room : ROOM_MIN;
    return take_room(l, count > twice ? count : twice);
}

bd_tensor_list *bd_tensor_list_copy(const bd_tensor_list *l, int64_t more)
{
    bd_tensor_list *copy = bd_tensor_list_new(l->element_dtype, &l->element_shape, l->max_elements);
    if (!reserve(copy, l->count + more)) {
        bd_variant_unref(&copy->base);
        return NULL;
    }
    for (int64_t i = 0; i < l->count; i++)
        bd_tensor_ref(&copy->items[i], &l->items[i]);
    copy->count = l->count;
    return copy;
}

bool bd_tensor_list_resize(bd_tensor_list *l, int64_t count)
{
    if (!reserve(l, count)) return false;
    drop(l, count);
    for (int64_t i = l->count; i < count; i++)
        l->items[i] = (braid_tensor){0};
    l->count = count;
    return true;
}
