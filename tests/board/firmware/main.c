/* Sessions that begin and end on FreeRTOS. Each session has a task, a queue and a timer, and passes
 * its messages by pointer. The heap is small, so that some requests are refused. All randomness is
 * seeded. */
#include <stdint.h>

#include "FreeRTOS.h"
#include "queue.h"
#include "simalloc_board.h"
#include "startup.h"
#include "task.h"
#include "timers.h"

enum { SESSIONS = 12, TURNS = 1500, MESSAGES = 4, LOG_LINES = 16 };

struct session {
    TaskHandle_t task;
    QueueHandle_t queue;
    TimerHandle_t timer;
};

static struct session sessions[SESSIONS];
static char *lines[LOG_LINES];

static uint32_t random_below(uint32_t limit)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static void on_timer(TimerHandle_t timer)
{
    (void)timer;
}

/* Frees the messages that arrive. */
static void serve(void *queue)
{
    void *message;
    for (;;)
        if (xQueueReceive(queue, &message, portMAX_DELAY))
            vPortFree(message);
}

static void close_session(struct session *session)
{
    void *message;
    if (session->task)
        vTaskDelete(session->task);
    if (session->timer)
        xTimerDelete(session->timer, portMAX_DELAY);
    if (session->queue) {
        while (xQueueReceive(session->queue, &message, 0))
            vPortFree(message);
        vQueueDelete(session->queue);
    }
    *session = (struct session){0};
}

static void open_session(struct session *session)
{
    session->queue = xQueueCreate(MESSAGES + random_below(MESSAGES), sizeof(void *));
    session->timer = xTimerCreate("t", 50 + random_below(100), pdTRUE, NULL, on_timer);
    if (!session->queue || xTaskCreate(serve, "s", 96 + random_below(160), session->queue, 2, &session->task) != pdPASS)
        close_session(session);
    else if (session->timer)
        xTimerStart(session->timer, portMAX_DELAY);
}

static void send(struct session *session)
{
    size_t size = 1 + random_below(random_below(8) ? 120 : 1400);
    void *message = pvPortMalloc(size);
    if (message && (!session->queue || !xQueueSend(session->queue, &message, 0)))
        vPortFree(message);
}

static void log_line(void)
{
    char **line = &lines[random_below(LOG_LINES)];
    vPortFree(*line);
    *line = pvPortMalloc(10 + random_below(90));
}

static void drain(void)
{
    simalloc_board_drain(board_put, NULL, SIMALLOC_BOARD_RING);
}

static void manage(void *unused)
{
    (void)unused;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct session *session = &sessions[random_below(SESSIONS)];
        switch (random_below(4)) {
        case 0:
            close_session(session);
            open_session(session);
            break;
        case 1:
            log_line();
            break;
        default:
            send(session);
        }
        if (turn % 4 == 0)
            vTaskDelay(1);
        drain();
    }
    simalloc_board_flush();
    drain();
    board_write();
    board_exit(simalloc_board_lost() != 0);
}

int main(void)
{
    static const char name[] = "board.bin";
    board_open(name, sizeof name - 1);
    xTaskCreate(manage, "manage", 256, NULL, 1, NULL);
    vTaskStartScheduler();
    return 1;
}
