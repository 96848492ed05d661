package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"healc/codegen"
)

// Note [Claims]
//
// Processes that want the same program at the same time, as the ranks of a run on one machine do, need not all make it.
// Who makes one has claimed it: it holds a lock on a file beside the entry. The others wait until the entry is there,
// or the lock is free. The system frees the lock of a process that has ended, however it did. A claim is no promise:
// who has waited for long makes the program, too.

// Claim returns the program stored under key, or nil and how to give up the claim to make it. Where another process
// makes it, it waits, but not longer than patience; with none, both results are nil.
func (c *Cache) Claim(key string, patience time.Duration) (art *codegen.Artifact, release func()) {
	start, pause := time.Now(), time.Millisecond
	for {
		if art := c.Load(key); art != nil {
			return art, nil
		}
		if release := c.lock(key); release != nil {
			if art := c.Load(key); art != nil { // it was stored since
				release()
				return art, nil
			}
			return nil, release
		}
		switch left := patience - time.Since(start); {
		case patience == 0:
			return nil, nil
		case left <= 0:
			return nil, func() {}
		default:
			time.Sleep(min(pause, left))
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}

// lock takes the lock of an entry, and returns how to give it back; nil: somebody has it. Where there can be no file,
// there is nobody to wait for.
func (c *Cache) lock(key string) (unlock func()) {
	free := func() {}
	d := c.open(true)
	if d == nil {
		return free
	}
	path := filepath.Join(key[:2], halfPrefix+key[2:])
	if err := d.Mkdir(key[:2], 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		d.Close()
		return free
	}
	f, err := d.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		d.Close()
		return free
	}
	busy, err := tryLock(f)
	if !busy && err == nil {
		return func() {
			d.Remove(path) // who has opened it finds the entry
			f.Close()
			d.Close()
		}
	}
	f.Close()
	d.Close()
	if busy {
		return nil
	}
	return free // the file system has no locks
}
