use hearth_apps::AppModules; use hearth_core::module::*; use std::path::*;
fn walk(d:&Path, out:&mut Vec<PathBuf>){ for e in std::fs::read_dir(d).unwrap(){ let p=e.unwrap().path(); if p.is_dir(){walk(&p,out)} else {out.push(p)} } }
fn main(){ let a:Vec<String>=std::env::args().collect(); let root=std::fs::canonicalize(&a[1]).unwrap(); let out=PathBuf::from(&a[2]); let _=std::fs::create_dir_all(&out);
 let mut files=vec![]; walk(&root,&mut files); let files:Vec<_>=files.into_iter().filter(|f|{let n=f.to_string_lossy().to_string(); [".ts",".tsx",".mts",".cts",".js",".mjs",".cjs",".jsx"].iter().any(|e|n.ends_with(e)) && !n.ends_with(".d.ts") && !n.ends_with(".d.mts")&& !n.ends_with(".d.cts")}).collect();
 let m=AppModules::open(&root,&files[0]).unwrap(); let mut n=0;
 for (i,f) in files.iter().enumerate(){ let id=format!("/{}",f.strip_prefix(&root).unwrap().display()); 
  match m.load(&ModuleId::new(id.clone()),ImportType::Default){ Ok(s)=>{ n+=1; let (e,c)=match &s.code{ModuleCode::Module(c)=>("mjs",c.clone()),ModuleCode::Script(c)=>("cjs",c.clone()),ModuleCode::CommonJs{body,..}=>("cjs",body.clone()),_=>continue}; std::fs::write(out.join(format!("{i}.{e}")),format!("{c}\n//{id}")).unwrap(); } Err(e)=>println!("{e}") } }
 println!("{n} ok of {}",files.len()); }
