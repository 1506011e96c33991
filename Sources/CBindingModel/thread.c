#include "CBindingModel.h"

BINDBUS_THREAD_LOCAL void *bindbus_thread_slot;
