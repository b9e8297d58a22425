/* A JVMTI agent that records the heap requests of a Java program as `m ID SIZE` and `f ID`.
 *
 * Every object is reported when it is allocated (a sampling interval of 0) and tagged with its
 * number. On a busy machine, a few in ten thousand objects were missing. The collector reports the
 * tag when it finds the object dead. Deaths are therefore recorded when a collector would free the
 * memory, as in the paper. An object that is never collected never dies. */
#include <jvmti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static FILE *trace;
static atomic_long objects; /* number of tagged objects; tags begin at 1 because 0 means no tag */

static void JNICALL allocated(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jobject object,
                              jclass class, jlong size)
{
    (void)jni, (void)thread, (void)class;
    jlong tag = atomic_fetch_add(&objects, 1) + 1;
    flockfile(trace); /* prevents a report of the death before the allocation is written */
    if ((*jvmti)->SetTag(jvmti, object, tag) == JVMTI_ERROR_NONE)
        fprintf(trace, "m %lld %lld\n", (long long)tag - 1, (long long)size);
    funlockfile(trace);
}

static void JNICALL freed(jvmtiEnv *jvmti, jlong tag)
{
    (void)jvmti;
    fprintf(trace, "f %lld\n", (long long)tag - 1);
}

static void JNICALL started(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jni;
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
    (void)thread;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *machine, char *path, void *reserved)
{
    (void)reserved;
    jvmtiEnv *jvmti;
    if (path == NULL || (trace = fopen(path, "w")) == NULL) {
        fprintf(stderr, "the recording agent cannot write %s\n", path == NULL ? "(no path)" : path);
        return JNI_ERR;
    }
    if ((*machine)->GetEnv(machine, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_ERR;
    jvmtiCapabilities wanted = {
        .can_tag_objects = 1,
        .can_generate_object_free_events = 1,
        .can_generate_sampled_object_alloc_events = 1,
    };
    jvmtiEventCallbacks callbacks = {
        .VMInit = started, .SampledObjectAlloc = allocated, .ObjectFree = freed};
    if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetHeapSamplingInterval(jvmti, 0) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) {
        fprintf(stderr, "this Java VM cannot report allocations\n");
        return JNI_ERR;
    }
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_OBJECT_FREE, NULL);
    return JNI_OK;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *machine)
{
    (void)machine;
    fclose(trace);
    trace = NULL;
}
