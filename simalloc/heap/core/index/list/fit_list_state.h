/* State of a list of free blocks in any form. */
#ifndef SIMALLOC_FIT_LIST_STATE_H
#define SIMALLOC_FIT_LIST_STATE_H

#include "index/list/aged_list.h"
#include "index/list/block_list_edit.h"
#include "index/list/flat_list.h"
#include "index/list/walked_list.h"
#include "index/order.h"

enum form { FORM_TREE, FORM_FLAT, FORM_AGED, FORM_WALK, FORMS };

/* Fit, order and form. They are compile-time constants where they are used, so that no other
 * branches remain. */
struct list_rule {
    enum fit fit;
    enum order order;
    enum form form;
};

struct list_fit {
    struct heap heap;
    struct list_rule rule;
    bool held;       /* true if a form was requested; the form is kept while possible */
    /* Visits saved by the present choice, to walk or not to walk; at most 0. */
    int64_t balance;
    uint64_t searches, visited; /* totals when `balance` was last computed */
    /* Number of neighbours passed in the last batch of a walk; decays in other forms. */
    uint64_t passed;
    struct walked_list walk; /* walked list; for next fit, the front is the rover */
    struct block_list tree;  /* tree in list order; for first fit LIFO in reverse order, so that a
                              * new block enters at the end and shifts no other blocks */
    uint32_t rover; /* next fit in a tree: block at which the next search starts, or NO_BLOCK */
    struct flat_list flat;
    struct aged_list *aged; /* aged list, or NULL before the first use of this form */
};

/* A block of the list and its position. */
struct seat {
    uint32_t block;   /* id, or NO_BLOCK */
    struct cursor at; /* position in the tree; NOWHERE in other forms */
};

#endif
