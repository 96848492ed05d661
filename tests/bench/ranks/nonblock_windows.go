package main

import "syscall"

func setNonblock(fd uintptr) error { return syscall.SetNonblock(syscall.Handle(fd), true) }
