package cluster

import "github.com/shardify/shardify/plan"

// StagesOf is the stages of the work of a plan.
func StagesOf(p *plan.Plan) []string {
	if p.Order.Shuffle == plan.ShuffleGlobal {
		return []string{StageScatter, StageGather}
	}
	return []string{StageWork}
}

// Unfinished reports for each of so many elements whether one of its tasks is not done in a stage:
// element k does the tasks k, k+elements, ...
func Unfinished(p *plan.Plan, done *plan.Done, stage string, tasks, elements int) []bool {
	todo := make([]bool, elements)
	if stage == StageGather {
		for i, ok := range done.Shards {
			todo[i%tasks%elements] = todo[i%tasks%elements] || !ok
		}
		return todo
	}
	made := done.Shards
	if stage == StageScatter {
		made = done.Portions
	}
	units := p.Pack.UnitsDone(made)
	for u, t := range p.Pack.TasksOf(tasks) {
		todo[int(t)%elements] = todo[int(t)%elements] || !units[u]
	}
	return todo
}
