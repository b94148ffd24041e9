//go:build linux && amd64

package faulttest

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cluster is a Slurm.
type cluster struct {
	dir   string // of a cluster of our own; "" is one of the site
	conf  string
	nodes []string
	init  *exec.Cmd
	ask   io.WriteCloser // orders to the first process
	space string         // its pid namespace
}

const killWait = 5 * time.Second

// initVariable makes the test program the first process of a cluster.
const initVariable = "SHARDIFY_SLURMTEST_INIT"

var shared *cluster

// slurm starts the cluster that all tests use.
func slurm(t *testing.T) *cluster {
	t.Helper()
	if shared != nil {
		return shared
	}
	if os.Getenv("SHARDIFY_SLURM") != "" {
		if out, err := exec.Command("sinfo", "-h").CombinedOutput(); err != nil {
			t.Skipf("skipped: SHARDIFY_SLURM is set, but sinfo does not answer: %v %s", err, out)
		}
		shared = &cluster{}
		return shared
	}
	if os.Getuid() != 0 {
		t.Skip("skipped: to start a Slurm takes root; SHARDIFY_SLURM=1 uses one that runs")
	}
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("skipped: %s is not installed (Debian: slurm-wlm and munge)", name)
		}
	}
	dir, err := os.MkdirTemp("", "faulttest-slurm-")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir, conf: filepath.Join(dir, "slurm.conf"), nodes: []string{"n1", "n2"}}
	if err := c.start(); err != nil {
		c.stop()
		t.Skipf("skipped: no Slurm can be started here: %v", err)
	}
	shared = c
	return c
}

// stopShared ends the cluster, and with it all of its processes.
func stopShared() {
	if shared != nil && shared.dir != "" {
		shared.stop()
	}
}

func (c *cluster) stop() {
	if c.ask != nil {
		c.ask.Close()
		done := make(chan struct{})
		go func() { c.init.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			c.init.Process.Kill()
			<-done
		}
	}
	os.RemoveAll(c.dir)
}

// start writes the configuration and starts the first process of a pid namespace, which
// starts the daemons. When it ends, all of them do.
func (c *cluster) start() error {
	if err := c.configure(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.init = exec.Command(self)
	c.init.Env = append(os.Environ(), initVariable+"="+c.dir)
	c.init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Setsid: true}
	log, err := os.Create(filepath.Join(c.dir, "init.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.init.Stdout, c.init.Stderr = log, log
	if c.ask, err = c.init.StdinPipe(); err != nil {
		return err
	}
	if err := c.init.Start(); err != nil {
		c.ask = nil
		return fmt.Errorf("no pid namespace: %w", err)
	}
	if c.space, err = os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", c.init.Process.Pid)); err != nil {
		return err
	}
	os.Setenv("SLURM_CONF", c.conf)
	if c.wait(30*time.Second, func() bool { return c.idle() == len(c.nodes) }) {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(c.dir, "init.log"))
	more, _ := os.ReadFile(filepath.Join(c.dir, "slurmctld.log"))
	return fmt.Errorf("the nodes did not become idle:\n%s\n%s", tail(text), tail(more))
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

func (c *cluster) wait(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// idle counts the nodes that take work.
func (c *cluster) idle() int {
	out, err := slurmCommand("sinfo", "-h", "-N", "-p", "batch", "-t", "idle,mixed,allocated", "-o", "%N %T")
	if err != nil {
		return 0
	}
	n := 0
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "*") { // a star: does not answer
			n++
		}
	}
	return n
}

// freePorts finds ports that no process listens on.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func (c *cluster) configure() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	host, _, _ = strings.Cut(host, ".")
	ports, err := freePorts(1 + len(c.nodes))
	if err != nil {
		return err
	}
	key := make([]byte, 1024)
	rand.Read(key)
	if err := os.WriteFile(filepath.Join(c.dir, "munge.key"), key, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(c.dir, 0o755); err != nil { // munged wants its socket reached by all
		return err
	}
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	add("ClusterName=slurmtest")
	add("SlurmctldHost=%s(127.0.0.1)", host)
	add("SlurmctldPort=%d", ports[0])
	add("CommunicationParameters=NoCtldInAddrAny,NoInAddrAny")
	add("SlurmUser=root\nSlurmdUser=root")
	// A job that is queued again waits until its old credential is void.
	add("AuthType=auth/munge\nAuthInfo=socket=%s,cred_expire=10\nCredType=cred/munge", c.file("munge.sock"))
	for key, name := range map[string]string{
		"StateSaveLocation": "state", "SlurmctldPidFile": "slurmctld.pid", "SlurmctldLogFile": "slurmctld.log",
		"SlurmdPidFile": "%n.pid", "SlurmdSpoolDir": "spool.%n", "SlurmdLogFile": "%n.log", "JobCompLoc": "jobs.txt",
	} {
		add("%s=%s", key, c.file(name))
	}
	add("SlurmdParameters=config_overrides") // nodes with more cores than there are
	add("ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none")
	add("JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/filetxt")
	add("SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory")
	add("SchedulerType=sched/backfill\nSchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0")
	add("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nJobRequeue=1")
	add("KillWait=%d\nMinJobAge=3600\nMaxArraySize=10001\nMaxJobCount=20000", int(killWait.Seconds()))
	add("SlurmctldTimeout=30\nSlurmdTimeout=10\nReturnToService=2\nLaunchParameters=disable_send_gids")
	add("NodeName=DEFAULT CPUs=4 RealMemory=4000 State=UNKNOWN")
	for i, n := range c.nodes {
		add("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d", n, host, ports[1+i])
		if err := os.MkdirAll(c.file("spool."+n), 0o755); err != nil {
			return err
		}
	}
	all := strings.Join(c.nodes, ",")
	add("PartitionName=batch Nodes=%s Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=0 DefMemPerCPU=100 State=UP", all)
	add("PartitionName=urgent Nodes=%s PriorityTier=10 PreemptMode=OFF DefMemPerCPU=100 State=UP", all)
	if err := os.MkdirAll(c.file("state"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.conf, []byte(b.String()), 0o644)
}

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

// loseNode kills the daemons of a node, not its jobs: that is how a node goes that the
// others cannot reach any more.
func (c *cluster) loseNode(node string) error {
	killed := 0
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err != nil || ns != c.space {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := strings.Split(string(line), "\x00")
		daemon := strings.HasSuffix(words[0], "slurmd") && len(words) > 3 && words[3] == node
		step := strings.HasPrefix(words[0], "slurmstepd") && c.stepOf(pid, node)
		if daemon || step {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	if killed == 0 {
		return errors.New("no daemon of " + node + " was found")
	}
	return nil
}

// stepOf reports whether a job's daemon belongs to a node: it works in its spool folder.
func (c *cluster) stepOf(pid int, node string) bool {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if strings.Contains(string(env), "SLURMD_NODENAME="+node+"\x00") {
		return true
	}
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, fd := range fds {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if strings.HasPrefix(name, c.file("spool."+node)) || name == c.file(node+".log") {
			return true
		}
	}
	return false
}

// returnNode starts the daemon of a node again.
func (c *cluster) returnNode(node string) error {
	_, err := io.WriteString(c.ask, node+"\n")
	return err
}

// beInit is the first process of a cluster: it starts the daemons, and again those whose
// names it reads, and ends with its standard input.
func beInit(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("mounts of our own: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("/proc of our own: %w", err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	conf := file("slurm.conf")
	os.Setenv("SLURM_CONF", conf)
	daemon := func(args ...string) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	daemon("munged", "--foreground", "--force", "--num-threads=2", "--key-file="+file("munge.key"), "--socket="+file("munge.sock"),
		"--pid-file="+file("munged.pid"), "--log-file="+file("munged.log"), "--seed-file="+file("munge.seed"))
	for range 50 {
		if _, err := os.Stat(file("munge.sock")); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	daemon("slurmctld", "-D", "-c", "-f", conf)
	node := func(n string) { daemon("slurmd", "-D", "-N", n, "-f", conf) }
	node("n1")
	node("n2")
	go func() { // whatever ends is ours to bury
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		node(in.Text())
	}
	return nil
}

// command runs a command and returns what it writes.
func slurmCommand(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
