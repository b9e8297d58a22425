/* The state of a list of free blocks, whichever form it has. */
#ifndef SIMALLOC_FIT_LIST_STATE_H
#define SIMALLOC_FIT_LIST_STATE_H

#include "index/list/aged_list.h"
#include "index/list/block_list_edit.h"
#include "index/list/flat_list.h"
#include "index/list/walked_list.h"
#include "index/order.h"

enum form { FORM_TREE, FORM_FLAT, FORM_AGED, FORM_WALK, FORMS };

/* Known when the code is compiled, so that only its own branches are left. */
struct list_rule {
    enum fit fit;
    enum order order;
    enum form form; /* form of the list */
};

struct list_fit {
    struct heap heap;
    struct list_rule rule;
    bool held;       /* a form was requested, and is kept while possible */
    int64_t balance; /* visits saved by walking, or by not walking, as it is done; at most 0 */
    uint64_t searches, visited; /* totals up to the latest balance */
    uint64_t passed; /* neighbours, in the last batch as a walk; forgotten bit by bit */
    struct walked_list walk; /* walked list; for next fit, the front is the rover */
    struct block_list tree;  /* but first fit LIFO the other way round, so that the newest block
                                comes last and enters without moving others */
    uint32_t rover; /* next fit in a tree: where the next search starts; NO_BLOCK if it is empty */
    struct flat_list flat;
    struct aged_list *aged; /* NULL: the list has never had this form */
};

/* A block of the list, and where the tree has it. */
struct seat {
    uint32_t block;   /* or NO_BLOCK */
    struct cursor at; /* position in the tree; nowhere in other forms */
};

#endif
