// Package sandbox runs healc in a process that has given up what a program does not need: files outside of its own,
// sockets, other programs, and memory, processor time and file sizes without limit.
//
// Note [Sandbox]. The process that a person starts keeps its rights and runs no code of the program. It starts itself
// again (Command), and the child gives its rights up in three steps, each of which holds for all that follow:
//
//  1. Enter, before anything of the program is read: limits of the system (setrlimit), and Landlock, by which the files
//     of the Rules and the libraries that healc is linked with are the only ones that can be opened. Landlock is per
//     thread, and a thread of a program with libraries cannot speak for the others on kernels before 7.0. So the thread
//     that has restricted itself executes the same program again: what is restricted is then the process.
//  2. Enter in the process that was executed: a filter of system calls (seccomp, for all threads) without sockets,
//     execve, ptrace, signals to others, and whatever else is not on the list of calls that healc makes.
//  3. Close, when the program is compiled and its inputs are read, before its code runs: a second filter, without
//     opening, creating, renaming and removing files, for a program that reads and writes none.
//
// A process that has all three can compute, and read and write what it has open: its standard streams.
//
// The high-level functions of go-landlock restrict the threads of a process by a means that Go refuses in programs that
// are linked with libraries without cgo, so the three calls of Landlock are made here; its policy is one list of files.
package sandbox

// Rules are what the program may use.
type Rules struct {
	Read      []string // files and folders that may be read
	Write     []string // folders that may be written and read
	Libraries []string // files that are read and executed: what healc is linked with
	Memory    int64    // bytes; 0 is no limit
	CPU       int64    // seconds of processor time, of all threads together; 0 is no limit
	File      int64    // bytes of a file that is written; 0 is no limit
}

// Support is what this system offers.
type Support struct {
	Landlock int  // the version of the interface, 0 where there is none
	Seccomp  bool // filters of system calls
}

// Missing names what the system does not offer, and what that means; "" is nothing.
func (s Support) Missing() string {
	switch {
	case s.Landlock == 0 && !s.Seccomp:
		return "it has neither Landlock nor seccomp"
	case s.Landlock == 0:
		return "it has no Landlock, so the compiler and programs with input or output can open any file"
	case !s.Seccomp:
		return "it has no seccomp, so sockets can be opened"
	}
	return ""
}
