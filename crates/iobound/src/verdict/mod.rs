//! From measurements to judgements: pure functions of the record.
//!
//! [`judge`] may be called again at any time: it starts from the measurements and replaces whatever
//! was said before.

mod ceilings;
mod checks;
mod cold;
mod consistency;
mod curves;
mod empirical;
mod factors;
mod fail_on;
mod fit;
mod merging;
mod observed;
mod page_cache;
mod roofline;
mod rules;
mod says;
mod stream;
mod targets;

use iobound_model::statistics::is_steady;
use iobound_record::Run;

pub(crate) use ceilings::bound_in_words;
pub use curves::{Column, Curve, Sweep, sweeps};
pub use fail_on::FailOn;
pub use roofline::{Bound, Roofline};
pub use targets::{check as check_target, parse_target};

/// Says of every scenario what binds it, of the run what was noticed, and sums it up.
pub fn judge(run: &mut Run) {
    for scenario in &mut run.scenarios {
        if let Some(measurement) = &mut scenario.measurement {
            measurement.steady = is_steady(&measurement.series);
            if let Some(stream) = &mut scenario.stream {
                stream::analyse(stream, measurement, run.host.cpus);
            }
        }
    }
    for scenario in &mut run.scenarios {
        scenario.verdict.findings.clear();
    }
    targets::hold(run);
    let roofline = Roofline::of_reads(run);
    // Findings ask how a scenario stands to its ceiling, and a ceiling made of what phase 1 measured asks
    // whether that number stands, which its findings say: the second round knows.
    for _ in 0..2 {
        ceilings::hold(run);
        run.findings = rules::findings(run);
        says::name_findings(run);
    }
    says::verdicts(run, roofline.as_ref());
    run.device_class = empirical::class(run);
    run.fit = fit::answers(run);
    run.conclusions = empirical::in_words(run).into_iter().collect();
    run.conclusions.extend(says::conclusions(run, roofline.as_ref()));
}
