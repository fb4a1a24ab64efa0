//! `DestinationConfig`: where on-failure documents go.

use super::ConfigError;
use super::object::Object;

/// Where on-failure documents go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DestinationArn {
    /// A standard queue: gets the pointer document.
    Queue {
        /// The queue's ARN.
        arn: String,
        /// The account that owns it.
        account: String,
        /// Its name.
        name: String,
    },
    /// A bucket: gets the document with the payload.
    Bucket {
        /// The bucket's name.
        name: String,
    },
}

impl DestinationArn {
    fn parse(arn: &str) -> Result<Self, String> {
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let [lead, _partition, service, _region, account, resource] = parts.as_slice() else {
            return Err(format!("{arn} is no ARN"));
        };
        if *lead != "arn" || resource.is_empty() {
            return Err(format!("{arn} is no ARN"));
        }
        match *service {
            // F-OFD-3: FIFO queues and topics are refused.
            "sqs" if resource.ends_with(".fifo") => Err(format!(
                "{arn} is a FIFO queue; AWS takes standard queues only"
            )),
            "sqs" => Ok(Self::Queue {
                arn: arn.to_owned(),
                account: (*account).to_owned(),
                name: (*resource).to_owned(),
            }),
            "s3" if resource.contains('/') => Err(format!("{arn} is not the ARN of a bucket")),
            "s3" => Ok(Self::Bucket {
                name: (*resource).to_owned(),
            }),
            "sns" if resource.ends_with(".fifo") => Err(format!(
                "{arn} is a FIFO topic; AWS takes standard ones only"
            )),
            other => Err(format!(
                "{other} is not supported as a destination here; an SQS queue or an S3 bucket is"
            )),
        }
    }
}

/// Reads `DestinationConfig.OnFailure.Destination`.
pub(super) fn on_failure(object: &mut Object) -> Result<Option<DestinationArn>, ConfigError> {
    let Some(mut config) = object.object("DestinationConfig")? else {
        return Ok(None);
    };
    let destination = match config.object("OnFailure")? {
        None => None,
        Some(mut target) => {
            let destination = match target.text("Destination")? {
                None => None,
                Some(arn) => Some(
                    DestinationArn::parse(&arn)
                        .map_err(|reason| target.invalid("Destination", reason))?,
                ),
            };
            target.finish()?;
            destination
        }
    };
    config.finish()?;
    Ok(destination)
}
