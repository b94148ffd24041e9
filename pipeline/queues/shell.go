package queues

import (
	"path/filepath"

	"github.com/shardify/shardify/pipeline/cluster"
)

// pbs: an array has no gaps, and at least two elements. A job that ends with 75 is not queued again: --missing does.
func (j *Job) pbs() []File {
	return j.scripts(&dialect{
		name: "pbs", ending: ".pbs", prefix: "#PBS ", index: "PBS_ARRAY_INDEX",
		options: func(s *script) {
			s.line("-N shardify-%s", s.stage)
			if a := s.array(); a != "" {
				s.line("-J %s%s", a, s.throttle("%%%d"))
			}
			s.line("-l select=1:ncpus=%d:mem=%dmb", s.CPUs, mib(s.Memory))
			s.line("-l walltime=%s", hms(s.Time))
			s.named("-q %s", s.Partition)
			s.named("-A %s", s.Account)
			s.named("-M %s", s.MailUser)
			if s.MailUser != "" {
				s.line("-m %s", map[bool]string{true: "ae", false: "a"}[s.stage == cluster.StageMerge])
			}
			s.line("-r y")
			s.line("-j oe")
			s.named("-o %s", s.Logs+"/")
		},
	})
}

// sge: numbers begin with 1. Exit code 99 has a job queued again, and 75 is translated to it; the
// shell stays, and passes no signal on: Grid Engine signals the whole process group.
func (j *Job) sge() []File {
	return j.scripts(&dialect{
		name: "sge", ending: ".sge", prefix: "#$ ", index: "SGE_TASK_ID", base: 1,
		options: func(s *script) {
			s.line("-S /bin/bash")
			s.line("-N shardify-%s", s.stage)
			if a := s.array(); a != "" {
				s.line("-t %s", a)
				if s.Throttle > 0 {
					s.line("-tc %d", s.Throttle)
				}
			}
			if s.CPUs > 1 {
				s.line("-pe smp %d", s.CPUs)
			}
			s.line("-l h_rt=%s,mem_free=%dM", hms(s.Time), mib(s.Memory))
			s.named("-q %s", s.Partition)
			s.named("-P %s", s.Account)
			s.named("-M %s", s.MailUser)
			if s.MailUser != "" {
				s.line("-m %s", map[bool]string{true: "ae", false: "a"}[s.stage == cluster.StageMerge])
			}
			s.line("-notify")
			s.line("-r y")
			s.line("-j y")
			s.named("-o %s", s.Logs)
		},
		last: "code=$?\n[ $code = 75 ] && exit 99 # stopped on request: queued again\nexit $code\n",
	})
}

// lsf: numbers begin with 1. -Q has a job that ends with 75 queued again.
func (j *Job) lsf() []File {
	return j.scripts(&dialect{
		name: "lsf", ending: ".lsf", prefix: "#BSUB ", index: "LSB_JOBINDEX", base: 1, gaps: true,
		options: func(s *script) {
			if a := s.array(); a != "" {
				s.line(`-J "shardify-%s[%s]%s"`, s.stage, a, s.throttle("%%%d"))
				s.named("-o %s", filepath.Join(s.Logs, s.stage+"-%J_%I.log"))
			} else {
				s.line("-J shardify-%s", s.stage)
				s.named("-o %s", filepath.Join(s.Logs, s.stage+"-%J.log"))
			}
			s.line("-n %d", s.CPUs)
			s.line(`-R "span[hosts=1] rusage[mem=%dMB]"`, mib(s.Memory))
			s.line("-M %dMB", mib(s.Memory))
			s.line("-W %s", hms(s.Time)[:len(hms(s.Time))-3])
			s.named("-q %s", s.Partition)
			s.named("-P %s", s.Account)
			s.named("-u %s", s.MailUser)
			s.line("-r")
			s.line("-Q 75")
			if s.stage != cluster.StageMerge {
				s.line("-wt 3 -wa USR1")
			}
		},
	})
}
