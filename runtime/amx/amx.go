// Package amx asks the system for the tile registers of x86 (AMX).
//
// In: nothing. Out: whether code in this process may use them. A thread that uses them without leave is ended by a
// signal.
package amx

// Note [Leave for tiles]
//
// Tiles are 8 KiB of registers. Linux saves them for a thread, and in the frame of a signal, only in processes that
// have asked for them, once for all of their threads. It refuses where a thread has a stack for signals that is too
// small for such a frame: those of Go have 32 KiB. So whoever decides that code has tiles asks Permitted, and whoever
// loads code does, too, since that may have been made by another process. A kernel configures the tiles when it begins
// and releases them before it returns, so that a thread that runs none has nothing to save.
