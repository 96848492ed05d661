package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	heal "healc"
)

// target is what a binary runs on. The C library of Linux is that of GNU where none is named.
type target struct{ os, arch, libc string }

func (t target) String() string {
	s := t.os + "-" + t.arch
	if t.libc != "" {
		s += "-" + t.libc
	}
	return s
}

var targets = []target{{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"linux", "amd64", musl},
	{"linux", "arm64", musl}, {"darwin", "arm64", ""}, {"darwin", "amd64", ""}, {"windows", "amd64", ""}}

// musl is the C library of Alpine. All that healc takes of a C library has the same name and meaning in both, so that
// the two builds differ in the loader that they name, and in the stack of threads (giveStack). A system with musl has
// no loader of GNU, and says of a program that wants it no more than "not found".
const musl = "musl"

// muslLoader is the loader by the name of the processor in Go.
var muslLoader = map[string]string{"amd64": "/lib/ld-musl-x86_64.so.1", "arm64": "/lib/ld-musl-aarch64.so.1"}

// source is what a release is made of.
type source struct {
	version string // as semantic versioning has it, without the v
	tagged  bool   // by a tag, which then is in the binaries, too
	time    time.Time
	vcs     bool // a checkout of git, whose commit is then in the binaries
}

// sourceHere looks at the current folder. A tag v1.2.3 is the version; any other commit is a version before the one
// that it becomes, so that packages of both can follow each other. The time is that of the commit. Without git,
// HEAL_VERSION and SOURCE_DATE_EPOCH say both.
func sourceHere() (source, error) {
	s := source{version: os.Getenv("HEAL_VERSION")}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if commit, err := git("rev-parse", "--short=8", "HEAD"); err == nil {
		s.vcs = true
		if epoch == "" {
			if epoch, err = git("log", "-1", "--format=%ct"); err != nil {
				return s, err
			}
		}
		changes, err := git("status", "--porcelain")
		if err != nil {
			return s, err
		}
		tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*")
		switch {
		case s.version != "":
		case err == nil && changes == "":
			s.version, s.tagged = strings.TrimPrefix(tag, "v"), true
		default:
			if s.time, err = unix(epoch); err != nil {
				return s, err
			}
			s.version = heal.Version + "-dev." + s.time.Format("20060102") + ".g" + commit
			if changes != "" {
				s.version += ".changed"
			}
		}
	}
	if s.version == "" || epoch == "" {
		return s, fmt.Errorf("this is no checkout of git: HEAL_VERSION=1.2.3 and SOURCE_DATE_EPOCH=SECONDS say the " +
			"version and its time")
	}
	var err error
	s.time, err = unix(epoch)
	return s, err
}

// unix is a time in seconds since 1970.
func unix(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// goIn is a command of Go. What the environment says of how things are compiled has no part in it.
func goIn(env []string, args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOWORK=off"), env...)
	c.Stderr = os.Stderr
	return c
}

// build compiles healc for a target.
func (r *release) build(t target) (string, error) {
	out := filepath.Join(r.stage, t.String(), "healc"+map[string]string{"windows": ".exe"}[t.os])
	link := "-s -w"
	if t.libc == musl {
		link += " -I " + muslLoader[t.arch]
	}
	build := goIn([]string{"GOOS=" + t.os, "GOARCH=" + t.arch}, "build", "-trimpath",
		"-buildvcs="+strconv.FormatBool(r.vcs), "-ldflags="+link, "-o", out, "./cmd/healc")
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", t, err)
	}
	if t.libc == musl {
		if err := giveStack(out); err != nil {
			return "", fmt.Errorf("%s: %w", out, err)
		}
	}
	if r.tagged {
		info, err := buildinfo.ReadFile(out)
		if err != nil {
			return "", err
		}
		if info.Main.Version != "v"+r.version {
			return "", fmt.Errorf("the tag is v%s, which Go takes for no version of module %s, but for %s: from 2 on "+
				"the path of the module has to end in /v2", r.version, info.Main.Path, info.Main.Version)
		}
	}
	return out, nil
}
