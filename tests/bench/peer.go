package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

//go:embed peer.py
var peerSource string

// peer is a Python process that runs NumPy, numexpr and whatever else it has when it is asked to: one line of JSON
// asks, one answers.
type peer struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	versions string
}

// peerRun is one contender of the peer.
type peerRun struct {
	Name    string `json:"name"`
	Threads int    `json:"threads"`
}

func startPeer(python string) (*peer, error) {
	p := &peer{cmd: exec.Command(python, "-c", peerSource)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	err = p.ask(map[string]any{"do": "versions"}, &p.versions)
	return p, err
}

// ask sends a request and reads the answer, {"ok": value} or {"error": text}.
func (p *peer) ask(req map[string]any, res any) error {
	line, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return err
	}
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the Python process ended: %w", err)
	}
	var answer struct {
		OK    json.RawMessage `json:"ok"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("python: %s", answer.Error)
	}
	return json.Unmarshal(answer.OK, res)
}

// open loads the inputs of a row and returns who can compute it there; nobody for a row that it does not know.
func (p *peer) open(name string, inputs []string) (runs []peerRun, err error) {
	err = p.ask(map[string]any{"do": "open", "row": name, "inputs": inputs}, &runs)
	return runs, err
}

// check compares the .npy files with the results of every contender of the peer.
func (p *peer) check(paths []string, rel float64) error {
	var worst float64
	if err := p.ask(map[string]any{"do": "check", "paths": paths}, &worst); err != nil {
		return err
	}
	if !(worst <= rel) {
		return fmt.Errorf("the result differs from the others' by %g of the largest element, more than %g", worst, rel)
	}
	return nil
}

// time is how long n executions take, measured in the peer.
func (p *peer) time(run peerRun, n int) (time.Duration, error) {
	var seconds float64
	err := p.ask(map[string]any{"do": "time", "name": run.Name, "threads": run.Threads, "n": n}, &seconds)
	return time.Duration(seconds * 1e9), err
}

func (p *peer) close() {
	p.in.Close()
	_ = p.cmd.Wait() // it has answered everything that it was asked
}
