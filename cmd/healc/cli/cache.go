package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/internal/cache"
	"healc/lang/diag"
)

func (a *app) cacheCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Look after the cache of compiled code",
		Long: "Compiled code is kept in the folder heal of the user's cache folder, or in HEAL_CACHE; HEAL_CACHE=off " +
			"keeps none. What\n" +
			"was not used for the longest time goes when there are more than 256 MiB. A folder that others own or\n" +
			"may write is not used.",
		Args: a.noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	sub := func(name, short string, do func(*cache.Cache) error) {
		c.AddCommand(&cobra.Command{Use: name, Short: short, Args: exactly(),
			RunE: func(*cobra.Command, []string) error {
				programs := cache.Default()
				if programs == nil {
					return &driver.UsageError{Message: "there is no cache",
						Help: "HEAL_CACHE is off, or HOME is not set"}
				}
				a.warnOfCache(programs)
				return do(programs)
			}})
	}
	sub("ls", "List the programs, oldest first", a.cacheList)
	sub("rm", "Remove all programs", a.cacheRemove)
	sub("verify", "Check every program, and remove those that are damaged", a.cacheVerify)
	return c
}

func (a *app) cacheList(programs *cache.Cache) error {
	sum := int64(0)
	entries := programs.Entries()
	for _, e := range entries {
		sum += e.Bytes
		fmt.Fprintf(a.out, "%s %9d %s\n", time.Unix(0, e.Used).Format("2006-01-02 15:04:05"), e.Bytes,
			cacheName(programs, e))
	}
	a.notef("%s, %d bytes in %s", driver.Count(len(entries), "program"), sum, programs.Dir)
	return nil
}

func (a *app) cacheRemove(programs *cache.Cache) error {
	n, err := programs.Clear()
	if err != nil {
		return err
	}
	a.notef("removed %s from %s", driver.Count(n, "program"), programs.Dir)
	return nil
}

func (a *app) cacheVerify(programs *cache.Cache) error {
	checked, damaged, err := programs.Verify()
	for _, d := range damaged {
		fmt.Fprintf(a.out, "damaged, removed: %s: %v\n", d.Path, d.Err)
	}
	if err != nil {
		return err
	}
	a.notef("checked %s in %s, %d damaged", driver.Count(checked, "program"), programs.Dir, len(damaged))
	return nil
}

// cacheName is the path of an entry below the cache's folder.
func cacheName(programs *cache.Cache, e cache.Entry) string {
	if rel, err := filepath.Rel(programs.Dir, e.Path); err == nil {
		return rel
	}
	return e.Path
}

// cache is the cache of compiled code, nil for none: where there is one that may not be used, there is a warning. What
// is there depends on the profile of this machine, which is looked at, too.
func (a *app) cache() (*cache.Cache, error) {
	if err := a.checkProfile(); err != nil {
		return nil, err
	}
	programs := cache.Default()
	if a.warnOfCache(programs) {
		return nil, nil
	}
	return programs, nil
}

// warnOfCache reports that the folder of the cache may not be used, and has said why.
func (a *app) warnOfCache(programs *cache.Cache) bool {
	err := programs.Refused()
	if err != nil {
		a.diagnostic(&diag.Diagnostic{Severity: diag.Warning,
			Message: "the cache of compiled code is not used: " + err.Error(),
			Help: "code that lies there is executed, so its folder has to be yours, and nobody else may write it: " +
				"`chmod go-w` it when that is so, or name another by HEAL_CACHE, or say HEAL_CACHE=off"})
	}
	return err != nil
}
