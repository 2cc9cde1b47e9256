//! Replaces `${VAR}` and fio's keywords in a line, before it is read as an option.

use crate::errors::Cause;
use crate::input::Options;
use crate::limits::LINE_BYTES_MAX;

/// The line with variables and keywords replaced.
///
/// fio takes an unset variable for an empty text, so that `filename=${DEV}` opens the wrong file;
/// here that is an error.
pub(crate) fn expand(line: &str, options: &Options<'_>) -> Result<String, Cause> {
    if !line.contains('$') {
        return Ok(line.to_owned());
    }
    let line = variables(line, options)?;
    let line = keywords(line, options)?;
    if line.len() > LINE_BYTES_MAX {
        return Err(line_too_long());
    }
    Ok(line)
}

pub(crate) fn line_too_long() -> Cause {
    Cause::Limit { what: "the line is too long", limit: format!("{LINE_BYTES_MAX} bytes, as in fio") }
}

fn variables(line: &str, options: &Options<'_>) -> Result<String, Cause> {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        let name = &rest[start + 2..start + length];
        let value = (options.env)(name).ok_or_else(|| Cause::UnsetVariable { name: name.to_owned() })?;
        out.push_str(&rest[..start]);
        out.push_str(&value);
        if out.len() > LINE_BYTES_MAX {
            return Err(line_too_long());
        }
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Replaces `$pagesize`, `$mb_memory` and `$ncpus`; a value with one of them may be a sum, as in
/// `numjobs=$ncpus*2`.
fn keywords(mut line: String, options: &Options<'_>) -> Result<String, Cause> {
    const WORDS: [&str; 3] = ["$pagesize", "$mb_memory", "$ncpus"];
    let mut replaced = false;
    for (i, word) in WORDS.iter().enumerate() {
        if !line.contains(word) {
            continue;
        }
        let Some(machine) = options.machine else {
            return Err(Cause::BadValue {
                option: line.split('=').next().unwrap_or_default().trim().to_owned(),
                value: line.split_once('=').map(|(_, value)| value.trim().to_owned()),
                why: format!("what {word} stands for is not known here; write the number"),
            });
        };
        let number = [machine.page_bytes, machine.memory_mib, machine.cpus][i];
        line = line.replace(word, &number.to_string());
        replaced = true;
    }
    if replaced
        && let Some((option, value)) = line.split_once('=')
        && let Some(number) = sum(value)
    {
        return Ok(format!("{option}={number}"));
    }
    Ok(line)
}

/// `a*b+c/d...` of whole numbers, multiplication first; None if the text is anything else.
fn sum(text: &str) -> Option<i128> {
    let mut total: i128 = 0;
    let mut term: i128 = 1;
    let mut sign = 1;
    let mut divide = false;
    let mut rest = text.trim();
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: i128 = rest[..end].parse::<u64>().ok()?.into();
        term = if divide { term.checked_div(number)? } else { term.checked_mul(number)? };
        rest = rest[end..].trim_start();
        let Some(operator) = rest.chars().next() else {
            return total.checked_add(sign * term);
        };
        rest = rest[operator.len_utf8()..].trim_start();
        match operator {
            '*' => divide = false,
            '/' => divide = true,
            '+' | '-' => {
                total = total.checked_add(sign * term)?;
                (term, divide) = (1, false);
                sign = if operator == '+' { 1 } else { -1 };
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Machine;

    fn with_env(line: &str) -> Result<String, Cause> {
        let env = |name: &str| match name {
            "DEV" => Some("/dev/nvme1n1".to_owned()),
            "LONG" => Some("x".repeat(5000)),
            _ => None,
        };
        let machine = Some(Machine { page_bytes: 4096, memory_mib: 1024, cpus: 8 });
        expand(line, &Options { env: &env, machine, ..Options::default() })
    }

    #[test]
    fn variables_are_replaced_wherever_they_stand() {
        assert_eq!(with_env("filename=${DEV}p${DEV}").unwrap(), "filename=/dev/nvme1n1p/dev/nvme1n1");
        assert_eq!(with_env("description=cost ${ open").unwrap(), "description=cost ${ open");
        assert_eq!(with_env("a=${NO}"), Err(Cause::UnsetVariable { name: "NO".into() }));
        assert!(matches!(with_env("a=${LONG}"), Err(Cause::Limit { .. })));
    }

    #[test]
    fn keywords_count_as_fio_counts() {
        assert_eq!(with_env("numjobs=$ncpus*2").unwrap(), "numjobs=16");
        assert_eq!(with_env("bs=$pagesize").unwrap(), "bs=4096");
        assert_eq!(with_env("iodepth=64/$ncpus - 2*3").unwrap(), "iodepth=2");
        assert_eq!(with_env("size=$mb_memorym").unwrap(), "size=1024m");
        assert_eq!(with_env("numjobs=$ncpus/0").unwrap(), "numjobs=8/0");
    }

    #[test]
    fn keywords_need_a_machine() {
        let error = expand("bs=$pagesize", &Options::default()).unwrap_err();
        assert!(error.to_string().contains("write the number"), "{error}");
    }
}
