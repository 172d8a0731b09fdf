//! Random programs mean the same before and after, with each group of rules off in turn.

use cotan_bot::{Options, bulk, normal_form};
use cotan_ir::Program;
use cotan_testkit::{Config, Oracle, check_transform};

fn transformed(program: &Program, options: &Options) -> Result<Program, String> {
    let (result, _) = bulk(program, options).map_err(|e| e.to_string())?;
    result.check().map_err(|e| format!("{e}\n{result}"))?;
    if options.push_index {
        normal_form(&result).map_err(|e| format!("{e}\n{result}"))?;
    }
    Ok(result)
}

#[test]
fn meaning_is_kept() {
    let options = Options::default();
    check_transform("bulk", &Config::default(), 2000, &Oracle::exact(), |p| {
        transformed(p, &options)
    });
}
