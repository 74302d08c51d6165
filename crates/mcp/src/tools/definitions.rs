//! The tools that agents are offered: name, title, description, effect, and the operation of the sandbox service behind each.

use serde::Deserialize;

use super::tool::{Effect, Requirement, ToolDef, ToolOutput};
use crate::sandbox_service::ExecuteCode;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneSandbox {
    /// From create_sandbox.
    sandbox_id: String,
}

pub(super) fn sandboxes() -> Vec<ToolDef> {
    vec![
        ToolDef::new(
            "create_sandbox",
            "Create a sandbox",
            "Makes an isolated Linux environment, ready at once, without network unless asked for. Returns the sandbox_id \
             that the other tools need.",
            Effect::Adds,
            |call, request| async move { Ok(call.service.create_sandbox(request).await?.into()) },
        ),
        ToolDef::new(
            "update_sandbox",
            "Change a sandbox",
            "Changes how long a sandbox lives and which hosts it may reach; what is left out stays as it is.",
            Effect::Sets,
            |call, request| async move { Ok(call.service.update_sandbox(request).await?.into()) },
        ),
        ToolDef::new(
            "destroy_sandbox",
            "Destroy a sandbox",
            "Destroys a sandbox with its processes and files.",
            Effect::Removes,
            |call, one: OneSandbox| async move { Ok(call.service.destroy_sandbox(one.sandbox_id).await?.into()) },
        ),
        ToolDef::new(
            "list_sandboxes",
            "List sandboxes",
            "Lists your sandboxes, the oldest first.",
            Effect::Reads,
            |call, _: NoArguments| async move { Ok(call.service.list_sandboxes().into()) },
        ),
        ToolDef::new(
            "get_sandbox",
            "Look at a sandbox",
            "Shows a sandbox's state, limits and times.",
            Effect::Reads,
            |call, one: OneSandbox| async move { Ok(call.service.get_sandbox(&one.sandbox_id)?.into()) },
        ),
    ]
}

pub(super) fn run() -> Vec<ToolDef> {
    vec![
        ToolDef::new(
            "execute_code",
            "Run code",
            "Runs code and returns its output. Each call starts afresh unless `session` names one, which keeps variables \
             from call to call; in a python session the last expression's value, display() and matplotlib figures are \
             shown as in a notebook, and a timeout interrupts the code but keeps the variables. `runtime` \"isolate\" \
             runs JavaScript in a bare V8 isolate: no files, processes or network, in a millisecond.",
            Effect::Runs,
            |mut call, request: ExecuteCode| async move {
                let result = call.service.execute_code(request, &mut call.progress).await?;
                let (text, images) = (result.whole.to_text(), result.whole.images.clone());
                Ok(ToolOutput::with_text(result, text).with_images(images))
            },
        ),
        ToolDef::new(
            "run_command",
            "Run a command",
            "Runs a shell command (sh -c) and returns its output. Processes that it leaves behind end with it: use \
             start_job for what should go on.",
            Effect::Runs,
            |mut call, request| async move {
                let result = call.service.run_command(request, &mut call.progress).await?;
                let text = result.to_text();
                Ok(ToolOutput::with_text(result, text))
            },
        ),
    ]
}

pub(super) fn files() -> Vec<ToolDef> {
    vec![
        ToolDef::new(
            "read_file",
            "Read a file",
            "Reads a file, up to 50 MB; what is no text with encoding \"base64\".",
            Effect::Reads,
            |call, request| async move {
                let file = call.service.read_file(request).await?;
                let text = file.content.clone();
                Ok(ToolOutput::with_text(file, text))
            },
        ),
        ToolDef::new(
            "write_file",
            "Write a file",
            "Writes a whole file, up to 50 MB, and the folders above it.",
            Effect::Sets,
            |call, request| async move { Ok(call.service.write_file(request).await?.into()) },
        ),
        ToolDef::new(
            "list_directory",
            "List a folder",
            "Lists a folder, sorted by name, 1000 entries at a time.",
            Effect::Reads,
            |call, request| async move { Ok(call.service.list_directory(request).await?.into()) },
        ),
        ToolDef::new(
            "delete_file",
            "Delete a file",
            "Deletes a file or an empty folder; with `recursive`, all that is in it too.",
            Effect::Removes,
            |call, request| async move { Ok(call.service.delete_file(request).await?.into()) },
        ),
        ToolDef::new(
            "move_file",
            "Move a file",
            "Moves or renames a file or folder, in place of a file that is there.",
            Effect::Sets,
            |call, request| async move { Ok(call.service.move_file(request).await?.into()) },
        ),
        ToolDef::new(
            "create_file_link",
            "Make a link to a file",
            "Makes a short-lived address for one file, to GET (download) or PUT (upload) without a token, so that the \
             content does not pass through the conversation.",
            Effect::Adds,
            |call, request| async move { Ok(call.service.create_file_link(request)?.into()) },
        )
        .requires(Requirement::FileLinks),
    ]
}

pub(super) fn jobs() -> Vec<ToolDef> {
    vec![
        ToolDef::new(
            "start_job",
            "Start a job",
            "Starts a shell command and returns its job_id at once: for servers and what takes long. It ends with its sandbox.",
            Effect::Runs,
            |call, request| async move { Ok(call.service.start_job(request).await?.into()) },
        ),
        ToolDef::new(
            "poll_job",
            "Look at a job",
            "Returns what a job wrote since your last poll, and whether it still runs; an offset asks for output from there, \
             0 for all that is kept (the last 1 MiB of each stream).",
            Effect::Reads,
            |call, request| async move { Ok(call.service.poll_job(request).await?.into()) },
        ),
        ToolDef::new(
            "signal_job",
            "Signal a job",
            "Sends a signal to a job and its processes: SIGTERM asks it to end, SIGKILL ends it.",
            Effect::Removes,
            |call, request| async move { Ok(call.service.signal_job(request)?.into()) },
        ),
        ToolDef::new(
            "list_jobs",
            "List jobs",
            "Lists the jobs of a sandbox.",
            Effect::Reads,
            |call, one: OneSandbox| async move { Ok(call.service.list_jobs(&one.sandbox_id)?.into()) },
        ),
    ]
}
