package cache

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"healc/codegen"
	"healc/runtime/abi"
)

// claiming is set for a test that is a process which claims a key and never makes its program: the folder of its cache.
const claiming = "HEAL_TEST_CLAIMS"

// TestClaims: one makes what several want, and the others get it. One that has failed, or was killed, is no reason to
// wait, and one that takes too long is none to wait for ever.
func TestClaims(t *testing.T) {
	if dir := os.Getenv(claiming); dir != "" {
		_, release := (&Cache{Dir: dir}).Claim(Key("x"), 0)
		if release == nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("claimed\n")
		select {}
	}
	c := &Cache{Dir: t.TempDir()}
	key := Key("x")
	if art, release := (*Cache)(nil).Claim(key, 0); art != nil || release == nil {
		t.Error("what nobody keeps is claimed by another")
	}
	art, release := c.Claim(key, 0)
	if art != nil || release == nil {
		t.Fatal("nobody has it, and it cannot be claimed")
	}
	if art, again := c.Claim(key, 0); art != nil || again != nil {
		t.Error("it is claimed twice")
	}
	got := make(chan *codegen.Artifact)
	go func() {
		art, _ := c.Claim(key, time.Minute)
		got <- art
	}()
	c.Store(key, &codegen.Artifact{Plan: &abi.Program{Name: "it"}})
	release()
	if art := <-got; art == nil || art.Plan.Name != "it" {
		t.Errorf("who waited has got %v", art)
	}
	if _, err := c.Clear(); err != nil {
		t.Fatal(err)
	}
	for _, killed := range []bool{true, false} {
		p := exec.Command(os.Args[0], "-test.run", "^TestClaims$")
		p.Env = append(os.Environ(), claiming+"="+c.Dir)
		out, err := p.StdoutPipe()
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if said, err := bufio.NewReader(out).ReadString('\n'); said != "claimed\n" {
			t.Fatal(said, err)
		}
		if killed {
			time.AfterFunc(20*time.Millisecond, func() { _ = p.Process.Kill() })
		}
		patience := 50 * time.Millisecond
		if killed {
			patience = time.Minute
		}
		start := time.Now()
		art, release := c.Claim(key, patience)
		if took := time.Since(start); art != nil || release == nil || took > 20*time.Second {
			t.Errorf("killed: %v: %v after %v", killed, art, took)
		} else {
			release()
		}
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}
