package sandbox

import (
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls of healc: of Go's runtime, of libLLVM and libc, of files and memory. Processors have
// different ones.
var allowed = append([]string{
	// Memory.
	"brk", "madvise", "membarrier", "memfd_create", "mincore", "mmap", "mprotect", "mremap", "munmap",
	// Threads, time and signals of this process.
	"clock_getres", "clock_gettime", "clock_nanosleep", "exit", "exit_group", "futex", "get_robust_list", "getcpu",
	"gettid", "gettimeofday", "nanosleep", "pause", "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "rt_sigtimedwait", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
	"sched_setaffinity", "sched_yield", "set_robust_list", "set_tid_address", "setitimer", "sigaltstack",
	"timer_create", "timer_delete", "timer_settime", "arch_prctl",
	// What the process is.
	"getcwd", "getegid", "geteuid", "getgid", "getpgrp", "getpid", "getppid", "getrandom", "getrlimit", "getrusage",
	"getuid", "sysinfo", "uname",
	// What is open.
	"close", "dup", "dup3", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "fadvise64",
	"fallocate", "fdatasync", "flock", "fstat", "fstatfs", "fsync", "ftruncate", "getdents64", "lseek",
	"pipe2", "poll", "ppoll", "pread64", "preadv", "pselect6", "pwrite64", "pwritev", "read", "readv", "select",
	"write", "writev",
	// Filters of its own: they can only take more away.
	"seccomp",
}, named...)

// named are the calls that find files by names: Landlock says which files, and Close takes these calls away.
var named = []string{"access", "faccessat", "faccessat2", "fstatat", "lstat", "mkdirat", "newfstatat", "open", "openat",
	"readlink", "readlinkat", "rename", "renameat", "renameat2", "stat", "statfs", "statx", "unlink", "unlinkat"}

// Close takes the calls away that find files by their names; what is open stays open. It does nothing outside of a
// sandbox, or where there is no seccomp.
func Close() error {
	if !Inside() || !seccomp.Supported() {
		return nil
	}
	return filter(nil, named)
}

// filter installs a filter for all threads of the process.
func filter(allow, deny []string) error {
	info, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	return seccomp.LoadFilter(seccomp.Filter{Flag: seccomp.FilterFlagTSync, Policy: policy(info, allow, deny)})
}

// policy is a filter of calls that are allowed, others fail with EPERM; or where there are none, of calls that are
// denied.
func policy(info *arch.Info, allow, deny []string) seccomp.Policy {
	known := func(names []string) (out []string) {
		for _, n := range names {
			if _, ok := info.SyscallNames[n]; ok {
				out = append(out, n)
			}
		}
		return out
	}
	refuse := seccomp.ActionErrno // EPERM
	p := seccomp.Policy{DefaultAction: seccomp.ActionAllow}
	if allow != nil {
		p.DefaultAction = refuse
		is := func(call string, arg uint32, op seccomp.Operation, value uint64) seccomp.NameWithConditions {
			return seccomp.NameWithConditions{Name: call, Conditions: seccomp.ArgumentConditions{
				{Argument: arg, Operation: op, Value: value}}}
		}
		p.Syscalls = []seccomp.SyscallGroup{{Action: seccomp.ActionAllow, Names: known(allow),
			NamesWithCondtions: []seccomp.NameWithConditions{
				is("clone", 0, seccomp.BitsSet, unix.CLONE_THREAD), // a thread, no process
				is("tgkill", 0, seccomp.Equal, uint64(os.Getpid())),
				is("prlimit64", 0, seccomp.Equal, 0), // of itself
				is("ioctl", 1, seccomp.Equal, unix.TCGETS),
				is("prctl", 0, seccomp.Equal, unix.PR_SET_VMA),
				// Everything but signals to the owner of a descriptor, which any process could be made.
				{Name: "fcntl", Conditions: seccomp.ArgumentConditions{
					{Argument: 1, Operation: seccomp.NotEqual, Value: unix.F_SETOWN},
					{Argument: 1, Operation: seccomp.NotEqual, Value: unix.F_SETOWN_EX},
					{Argument: 1, Operation: seccomp.NotEqual, Value: unix.F_SETSIG}}},
			}}}
		// Its arguments are in memory, where no filter reads them: libc takes clone instead.
		p.Syscalls = append(p.Syscalls, seccomp.SyscallGroup{
			Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}})
	} else {
		p.Syscalls = []seccomp.SyscallGroup{{Action: refuse, Names: known(deny)}}
	}
	return p
}
