use std::fs;

use cotan_train::data::read_csv;
use cotan_train::{Goal, best_parameters, last_checkpoint};

use super::*;

#[test]
fn metrics_go_on_where_a_run_was() {
    for name in ["metrics.csv", "metrics.jsonl"] {
        let folder = folder(name);
        let path = folder.join(name);
        let trainer = |epochs| {
            trainer()
                .epochs(epochs)
                .evaluate(["size, squared", "nothing"], |net: &Params| {
                    Ok([net.hidden.weights.iter().map(|x| x * x).sum(), f64::NAN])
                })
                .checkpoints(&folder)
                .metrics(&path)
                .curve(folder.join("loss.svg"))
        };
        let whole = trainer(6).run(start(), &batches()).unwrap();
        trainer(4).run(start(), &batches()).unwrap();
        // What a killed run may have left: a report after the last checkpoint, a line cut off.
        let mut text = fs::read_to_string(&path).unwrap();
        let last = text.lines().last().unwrap().replace("16", "17");
        text.push_str(&format!("{last}\n{}", &last[..last.len() / 2]));
        fs::write(&path, text).unwrap();
        let resumed = trainer(6).resume(true).run(start(), &batches()).unwrap();

        let columns = |run: &Run| -> Vec<_> {
            run.rows.iter().map(|row| (row.step, row.epoch, row.loss, row.values[0])).collect()
        };
        assert_eq!(columns(&resumed), columns(&whole), "{name}");
        assert!(resumed.rows.windows(2).all(|pair| pair[0].seconds <= pair[1].seconds));
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        match name.ends_with("csv") {
            true => {
                let header = r#"step,epoch,loss,seconds,rows_per_second,"size, squared",nothing"#;
                assert_eq!((lines.len(), lines[0]), (7, header));
            }
            false => {
                assert_eq!(lines.len(), 6);
                assert!(
                    lines[5].contains(r#""step":24"#) && lines[5].contains(r#""nothing":null"#)
                );
            }
        }
        let picture = fs::read_to_string(folder.join("loss.svg")).unwrap();
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn the_last_checkpoints_are_kept() {
    let folder = folder("kept");
    assert_eq!(last_checkpoint(&folder).unwrap(), None);
    let run = trainer().checkpoints(&folder).keep(2).epochs(5).run(start(), &batches()).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["step-000000000016.safetensors", "step-000000000020.safetensors"]);
    assert_eq!(last_checkpoint(&folder).unwrap(), Some(folder.join(&names[1])));
    // A run that begins anew leaves nothing of the other one.
    let first = trainer().checkpoints(&folder).run(start(), &batches()).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert_ne!(first.params, run.params);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_did_best_is_in_the_folder() {
    let folder = folder("best");
    let trainer = |epochs| {
        trainer().checkpoints(&folder).epochs(epochs).early_stopping("loss", Goal::Smallest, 100)
    };
    let run = trainer(8).run(start(), &batches()).unwrap();
    let best: Params = best_parameters(&folder).unwrap();
    assert_eq!(run.best, Some(best));
    let resumed = trainer(8).resume(true).run(start(), &batches()).unwrap();
    assert_eq!((resumed.best, resumed.params), (run.best, run.params));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tables_say_where_they_are_wrong() {
    let folder = folder("tables");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("table.csv");
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        read_csv::<f32>(&path).unwrap_err().to_string()
    };
    let error = refused("x,kind\n1,2\n3,dog\n");
    assert!(error.contains("line 3: `kind` is `dog`, which is not a number"), "{error}");
    assert!(refused("x,y\n1,2\n3\n").contains("fields"));
    fs::write(&path, "x, y\n 1,\n\"2\",1e3\n").unwrap();
    let table = read_csv::<f32>(&path).unwrap();
    assert_eq!(table.column("x").unwrap().to_vec(), [1.0, 2.0]);
    assert!(table.column("y").unwrap().get(&[0]).unwrap().is_nan());
    let error = table.column("z").unwrap_err().to_string();
    assert!(error.contains(r#"the columns are ["x", "y"]"#), "{error}");
    fs::write(&path, "x\n").unwrap();
    assert_eq!(read_csv::<f32>(&path).unwrap().values.shape(), [0, 1]);
    assert!(read_csv::<f32>(&folder).unwrap_err().to_string().contains("folder"));
    fs::remove_dir_all(&folder).unwrap();
}

#[cfg(feature = "images")]
#[test]
fn images_have_the_classes_of_their_folders() {
    use cotan_train::data::read_images;

    let folder = folder("images");
    let write = |name: &str, width: u32, pixel: [u8; 3]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        image::RgbImage::from_pixel(width, 2, image::Rgb(pixel)).save(path).unwrap();
    };
    write("dogs/1.png", 3, [255, 0, 51]);
    write("cats/2.png", 3, [0, 255, 0]);
    write("cats/1.PNG", 3, [0, 0, 255]);
    fs::write(folder.join("cats/notes.txt"), "not an image").unwrap();
    let found = read_images(&folder).unwrap();
    assert_eq!(found.names, ["cats", "dogs"]);
    assert_eq!(found.labels.to_vec(), [0, 0, 1]);
    assert_eq!(found.images.shape(), [3, 3, 2, 3]);
    assert_eq!(found.images.slice(s![2, .., 0, 0]).unwrap().to_vec(), [1.0, 0.0, 0.2]);
    write("dogs/2.png", 4, [0; 3]);
    let error = read_images(&folder).unwrap_err().to_string();
    assert!(error.contains("4 x 2, but") && error.contains("is 3 x 2"), "{error}");
    fs::write(folder.join("cats/3.png"), "broken").unwrap();
    assert!(read_images(&folder).unwrap_err().to_string().contains("3.png"));
    assert!(
        read_images(folder.join("cats")).unwrap_err().to_string().contains("there are no images")
    );
    fs::remove_dir_all(&folder).unwrap();
}
