//! From measurements to judgements: pure functions of the record.
//!
//! [`judge`] may be called again at any time: it starts from the measurements and replaces whatever
//! was said before.

mod ceilings;
mod checks;
mod cold;
mod curves;
mod factors;
mod page_cache;
mod roofline;
mod rules;
mod says;

use iobound_model::statistics::is_steady;
use iobound_record::Run;

pub(crate) use ceilings::bound_in_words;
pub use curves::{Column, Curve, Sweep, sweeps};
pub use roofline::{Bound, Roofline};

/// Says of every scenario what binds it, of the run what was noticed, and sums it up.
pub fn judge(run: &mut Run) {
    for scenario in &mut run.scenarios {
        if let Some(measurement) = &mut scenario.measurement {
            measurement.steady = is_steady(&measurement.series);
        }
    }
    ceilings::hold(run);
    let roofline = Roofline::of_reads(run);
    run.findings = rules::findings(run);
    says::verdicts(run, roofline.as_ref());
    run.conclusions = says::conclusions(run, roofline.as_ref());
}
