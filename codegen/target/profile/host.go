package profile

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// Env names a profile in place of the one that is found: the name of one that healc has, or a file.
const Env = "HEAL_PROFILE"

// Shipped is the value of Env by which the profile that healc has for a processor counts, measured ones or not.
const Shipped = "shipped"

// InForce is the profile of this machine.
type InForce struct {
	Profile *Profile
	By      string // what it was chosen by
	File    string // the file that it was read from; "" for one that healc has
	// Measured says of a file when it was made and by what, Figures what the machine did then.
	Measured string
	Figures  []string
	// Err says why a profile that was asked for or found is not used: then Profile is the one that healc has.
	Err error
	// Asked reports that Env names the one that Err is about.
	Asked bool
}

// Host is the profile that is in force on this machine: that of Env, else the one that `healc tune` measured for this
// user or that came with the system, else the one that healc has for the processor.
var Host = sync.OnceValue(func() *InForce { return choose(Here(), os.Getenv(Env), Folders()) })

// Folders are where measured profiles are looked for, the first counts: the user's, which `healc tune` writes to, and
// the system's, of an image or a cluster.
func Folders() []string {
	var out []string
	if dir, err := os.UserConfigDir(); err == nil {
		out = append(out, filepath.Join(dir, "heal", "profiles"))
	}
	if runtime.GOOS != "windows" {
		out = append(out, "/etc/heal/profiles")
	}
	return out
}

// choose is Host for a processor, a value of Env and folders.
func choose(p Processor, asked string, folders []string) *InForce {
	shipped, by := For(p)
	own := &InForce{Profile: shipped, By: by}
	switch {
	case asked == "":
		for _, dir := range folders {
			file := filepath.Join(dir, p.File())
			found, err := Read(file, p)
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				own.Err = err
				return own
			}
			return found
		}
		return own
	case asked == Shipped:
		return own
	case Named(asked) != nil:
		return &InForce{Profile: Named(asked), By: Env}
	}
	found, err := Read(asked, p)
	if err != nil {
		own.Err, own.Asked = err, true
		return own
	}
	found.By = Env + "=" + asked
	return found
}

// Changed are the fields in which the profile differs from the one that healc has for this processor, each with its
// value; "" where it is that one. Code that was made with a profile is good for these values alone.
func (f *InForce) Changed() string {
	shipped, _ := For(Here())
	if f.Profile == shipped {
		return ""
	}
	var b strings.Builder
	for _, field := range Fields() {
		if x := field.Get(f.Profile); x != field.Get(shipped) {
			b.WriteString(field.Name + "=" + strconv.Itoa(x) + " ")
		}
	}
	return b.String()
}

// Pass is what a process needs that shall have the same profile: a file that it has to read, or none, and the setting
// of Env.
func (f *InForce) Pass() (files []string, env string) {
	switch shipped, _ := For(Here()); {
	case f.File != "":
		return []string{f.File}, Env + "=" + f.File
	case f.Profile == shipped:
		return nil, Env + "=" + Shipped
	}
	return nil, Env + "=" + f.Profile.Name
}

// Here is what the processor of this machine says of itself.
var Here = sync.OnceValue(func() Processor {
	p := Processor{}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		start := make([]byte, 8<<10) // of a text of kilobytes for each processor
		n, _ := io.ReadFull(f, start)
		p = processor(string(start[:n]))
	}
	p.ARM = runtime.GOARCH == "arm64"
	return p
})

// processor reads the first entry of /proc/cpuinfo. What is not there, or no number, stays zero.
func processor(text string) Processor {
	var p Processor
	text, _, _ = strings.Cut(text, "\n\n")
	number := func(s string) int {
		n, _ := strconv.ParseInt(s, 0, 32) // those of ARM are hexadecimal, with 0x
		return int(n)
	}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "vendor_id":
			p.Vendor = value
		case "CPU implementer":
			p.Vendor = "ARM-" + value
		case "cpu family", "CPU architecture":
			p.Family = number(value)
		case "model", "CPU part":
			p.Model = number(value)
		case "flags":
			p.Features = strings.Fields(value)
		}
	}
	return p
}

// ID is the processor in a word, by what it says of itself: `genuineintel-6-143`. It is good for the name of a file.
func (p Processor) ID() string {
	vendor := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(p.Vendor))
	if vendor == "" {
		vendor = runtime.GOARCH
	}
	return vendor + "-" + strconv.Itoa(p.Family) + "-" + strconv.Itoa(p.Model)
}

// File is the name of the file that has the profile that was measured on such a processor, so that machines that share
// a home each find theirs.
func (p Processor) File() string { return p.ID() + ".profile" }
