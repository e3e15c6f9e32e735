// gRPC's server reflection: a client asks, question by question on one stream, for services and the
// descriptors of their messages.
#include "base/alloc.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/services.h"
#include "grpc/reflection/v1alpha/reflection.pb-c.h"
#include "proto/descriptors.h"
#include "proto/pack.h"
#include <string.h>

typedef Grpc__Reflection__V1alpha__ServerReflectionRequest request_message;
typedef Grpc__Reflection__V1alpha__ServerReflectionResponse response_message;

static void free_call(bd_server_call *base)
{
    bd_free(base);
}

// ---- Answers ----

static void fail(response_message *response, Grpc__Reflection__V1alpha__ErrorResponse *error,
                 const char *text)
{
    grpc__reflection__v1alpha__error_response__init(error);
    error->error_code = BRAID_NOT_FOUND;
    error->error_message = (char *)text;
    response->message_response_case =
        GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    response->error_response = error;
}

static void list_services(response_message *response, Grpc__Reflection__V1alpha__ListServiceResponse *list,
                          bd_arena *arena)
{
    grpc__reflection__v1alpha__list_service_response__init(list);
    while (bd_public_services[list->n_service])
        list->n_service++;
    list->service = BD_ARENA_ARRAY(arena, Grpc__Reflection__V1alpha__ServiceResponse *, list->n_service);
    for (size_t i = 0; i < list->n_service; i++) {
        list->service[i] = BD_ARENA_NEW(arena, Grpc__Reflection__V1alpha__ServiceResponse);
        grpc__reflection__v1alpha__service_response__init(list->service[i]);
        list->service[i]->name = (char *)bd_public_services[i];
    }
    response->message_response_case =
        GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    response->list_services_response = list;
}

static void write_answer(request_message *request, bd_message *out)
{
    bd_arena arena;
    bd_arena_init(&arena);
    response_message response = GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_RESPONSE__INIT;
    Grpc__Reflection__V1alpha__ErrorResponse error;
    Grpc__Reflection__V1alpha__ListServiceResponse list;
    Grpc__Reflection__V1alpha__FileDescriptorResponse files =
        GRPC__REFLECTION__V1ALPHA__FILE_DESCRIPTOR_RESPONSE__INIT;
    bd_proto_file file = {0};
    bool is_there = false;
    response.valid_host = request->host;
    response.original_request = request;
    switch (request->message_request_case) {
    case GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        list_services(&response, &list, &arena);
        break;
    case GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        is_there = bd_proto_file_find(request->file_by_filename, &file);
        if (!is_there) fail(&response, &error, "There is no file of this name");
        break;
    case GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        is_there = bd_proto_file_declaring(request->file_containing_symbol, &file);
        if (!is_there) fail(&response, &error, "No file declares this name");
        break;
    default: fail(&response, &error, "The messages of this server have no extensions"); break;
    }
    ProtobufCBinaryData content = {.data = (uint8_t *)file.data, .len = file.len};
    if (is_there) {
        files.n_file_descriptor_proto = 1;
        files.file_descriptor_proto = &content;
        response.message_response_case =
            GRPC__REFLECTION__V1ALPHA__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
        response.file_descriptor_response = &files;
    }
    bd_proto_pack_message(&response.base, out);
    bd_arena_fini(&arena);
}

// ---- The stream ----

static void question_received(void *arg, bd_message *question);

static void answer_sent(void *arg)
{
    bd_server_call *s = arg;
    s->call->transport->receive(s->call, question_received, s);
}

static void question_received(void *arg, bd_message *question)
{
    bd_server_call *s = arg;
    if (!question) { // the client has no more, or is gone
        bd_server_call_reply(s, NULL);
        return;
    }
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    request_message *request = bd_proto_unpack_message(
        &grpc__reflection__v1alpha__server_reflection_request__descriptor, question, arena, st);
    if (!request) {
        bd_server_call_reply_error(s, st);
        return;
    }
    bd_message answer;
    bd_message_init(&answer);
    write_answer(request, &answer);
    s->call->transport->send(s->call, &answer, answer_sent, s);
}

static void reflect(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    if (!call->transport->send) {
        bd_fail(st, BRAID_UNIMPLEMENTED, "ServerReflection: the transport %s does not stream",
                call->transport->name);
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_server_call *s = bd_calloc(1, sizeof *s);
    bd_message question;
    bd_message_init(&question);
    bd_message_move(&question, &call->request);
    bd_server_call_init(s, call, env->cancellation, env->cancellation, free_call);
    question_received(s, &question);
    bd_message_fini(&question);
}

const bd_method bd_reflection_methods[] = {
    {"ServerReflectionInfo", BD_ON_ARRIVAL, reflect},
    {NULL, BD_ON_ARRIVAL, NULL},
};
