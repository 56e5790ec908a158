"""Experiments."""
import sys, json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
import numpy as np, torch
from items import Items, Rows
from train import *
from text import PIECES
which, build, out, tiny = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), len(sys.argv)>4
out.mkdir(parents=True, exist_ok=True)
torch.backends.cuda.matmul.allow_tf32 = True
given = Given(build=build,out=out,mode='sel',seed=1,teachers=1,tables=1,blend=1.0,width=256,distil_steps=1000,limit=None,tiny=tiny)
run = Run(given)
data = Packed(build/'data.npz')
wt = data.array('weak/tool').astype(int); n_old = int(np.flatnonzero(np.diff(wt)<0)[-1])+1
def old_weak(items):
    w=items.weak; sets=data.array('tools/set'); names=[m['name'] for m in data.meta['train']]
    left=[i for i,n in enumerate(names) if n in ('metatool','seal-tools')]
    k=int((~np.isin(sets[wt[:n_old]],left)).sum())
    return w.at(slice(0,k))
if tiny:
    import static
    static._mean = lambda teacher, pieces: torch.randn(len(pieces),384)
base = read_weights(build,'minilm')
saved={}
def fused(name, scores):
    for lam in (0,.0175,.0225,.0275,.035):
        run.note(f"{name} {lam}", {"f": summary({o.name: measure(scores[o.name]+np.float32(lam)*o.words,o.gold) for o in run.dev})})
@torch.no_grad()
def keep(name, model):
    sc={}
    for one in run.dev:
        q=encode(model, run.items.padded([query_sequence(i) for i in one.strong.queries], QUERY_LENGTH))
        t=encode(model, run.items.padded([i for i,_ in one.strong.tools], TOOL_LENGTH))
        saved[f"{name}/{one.name}/q"]=q.half().cpu().numpy(); saved[f"{name}/{one.name}/t"]=t.half().cpu().numpy()
        sc[one.name]=(q@t.T).cpu().numpy()
    fused(name, sc)
def teach(name, plan, wrong, seed=1, start_from=base):
    m=train_teacher(run.items, start_from, wrong, plan, seed, lambda s: None)
    run.note(name, teacher_results(run, m)); return m
plan0=run.teacher_plan
m0=MiniLM().load(base).to(run.device)
wrong0=Wrong(run.items,m0)
new=run.items.weak
if which=='A':
    run.items.weak=old_weak(run.items)
    t0=teach('T0 old weak',plan0,wrong0)
    run.items.weak=new
    t1=teach('T1 new weak',replace(plan0),wrong0)
    keep('T0',t0); keep('T1',t1)
    taught=Taught(run.items,t1)
    joined,words,static,dev=run.items.joined,run.items.words,run.items.static,run.dev
    for name in ('S2 pairs','S0 plain','S1 words'):
        run.items.joined,run.items.words,run.items.static,run.dev=joined,words,static,dev
        if name!='S2 pairs': run.items.joined=joined[:0]
        if name=='S0 plain':
            run.items.words=words[words<PIECES]; run.items.static=run.items.strong
            run.dev=[o._replace(static=o.strong) for o in dev]
        first=start(run.items,t1,256)
        torch.manual_seed(1)
        st,src=mean([first]),Distillation(run.items,t1,1)
        distil(st,src,run.static_plan,run.say)
        run.note(name+' distilled',static_results(run.dev,st.table()))
        tune(st,run.items,src,taught,run.static_plan,1,run.say)
        tb=st.table(); tb.save(out/(name.split()[0]+'.npz'))
        run.say(f"fields {tb.fields} name {tb.name}")
        run.note(name+' tuned',static_results(run.dev,tb,thorough=True))
else:
    t1=teach('V0 seed 2',plan0,wrong0,seed=2)
    w1=Wrong(run.items,t1); run.say('remined')
    v1=teach('V1 remined',plan0,w1)
    v2=teach('V2 remined, 3 wrong, 6 epochs',replace(plan0,wrong=3,epochs=1 if tiny else 6),w1,seed=3)
    v3=teach('V3 T .03',replace(plan0,temperature=.03),wrong0,seed=4)
    v4=teach('V4 batch 1024 2e-4 6 epochs',replace(plan0,batch=16 if tiny else 1024,rate=2e-4,epochs=1 if tiny else 6),wrong0,seed=5)
    v5=teach('V5 weak 1.0',replace(plan0,weak=.05 if tiny else 1.0),wrong0,seed=6)
    ws=[m.weights() for m in (t1,v1,v2,v3,v4,v5)]
    for n,ix in (('01',(0,1)),('012',(0,1,2)),('all',range(6)),('0135',(0,1,3,5)),('24',(2,4))):
        keep('soup'+n, MiniLM().load(average([ws[i] for i in ix],[1/len(ix)]*len(ix))).to(run.device))
np.savez(out/f'saved{which}.npz',**{k:v for k,v in saved.items() if k.split('/')[0] in ('T0','T1','soup012')})
run.say('done')
